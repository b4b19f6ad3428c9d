#include "tests/support/array_metalayer.h"

#include <cstddef>

namespace framefs::test {
namespace {

template <class T>
void append_dims(Bytes& to, const std::vector<T>& dims) {
  constexpr std::byte kInt = sizeof(T) == 8 ? std::byte{0xd3} : std::byte{0xd2};
  to.push_back(static_cast<std::byte>(0x90 + dims.size()));
  for (const T dim : dims) {
    to.push_back(kInt);
    append_be(to, dim);
  }
}

Bytes up_to_dtype(const ArrayLayer& layer, std::byte list) {
  Bytes out = {list, std::byte{0}, static_cast<std::byte>(layer.shape.size())};
  append_dims(out, layer.shape);
  append_dims(out, layer.chunkshape);
  append_dims(out, layer.blockshape);
  return out;
}

}  // namespace

Bytes array_metalayer(const ArrayLayer& layer) {
  Bytes out = up_to_dtype(layer, std::byte{0x97});
  out.push_back(static_cast<std::byte>(layer.dtype_format));
  out.push_back(std::byte{0xdb});
  append_be(out, static_cast<std::uint32_t>(layer.dtype.size()));
  append(out, std::string_view(layer.dtype));
  return out;
}

Bytes caterva_metalayer(const ArrayLayer& layer) { return up_to_dtype(layer, std::byte{0x95}); }

}  // namespace framefs::test
