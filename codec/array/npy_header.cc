#include "codec/array/npy_header.h"

#include <limits>
#include <string_view>
#include <vector>

#include "codec/array/dtype.h"
#include "codec/array/python_literal.h"

namespace framefs::codec {
namespace {

constexpr std::size_t kAlignment = 64;
// NumPy pads the header so that the first dimension can grow to this many digits.
constexpr std::size_t kGrowthDigits = 21;

// Magic, version, length (little endian, `length_bytes`), text, padding and a newline.
std::string wrap(std::string_view text, std::size_t length_bytes) {
  const auto before = kNpyMagic.size() + 2 + length_bytes;
  const auto unpadded = text.size() + 1;
  // 1 to 64 blanks: if the text needs no padding, NumPy adds 64.
  const auto padding = kAlignment - (before + unpadded) % kAlignment;
  std::string out(kNpyMagic);
  out += length_bytes == 2 ? '\x01' : '\x02';
  out += '\0';
  for (std::size_t i = 0; i < length_bytes; ++i) {
    out += static_cast<char>(((unpadded + padding) >> (8 * i)) & 0xFF);
  }
  out += text;
  out.append(padding, ' ');
  return out + '\n';
}

}  // namespace

std::string npy_header(const ArrayMeta& meta, std::uint32_t typesize) {
  const auto dtype = npy_dtype(is_numpy_dtype(meta) ? meta.dtype : "", typesize);
  std::vector<std::uint64_t> shape(meta.array_dims().begin(), meta.array_dims().end());
  shape.insert(shape.end(), dtype.shape.begin(), dtype.shape.end());
  auto text = "{'descr': " + dtype.descr +
              ", 'fortran_order': False, 'shape': " + python_tuple(shape) + ", }";
  if (!shape.empty()) text.append(kGrowthDigits - std::to_string(shape[0]).size(), ' ');
  constexpr std::size_t kShortLength = 2;
  constexpr std::size_t kLongLength = 4;
  auto out = wrap(text, kShortLength);
  if (out.size() - kNpyMagic.size() - 2 - kShortLength >
      std::numeric_limits<std::uint16_t>::max()) {
    out = wrap(text, kLongLength);
  }
  return out;
}

}  // namespace framefs::codec
