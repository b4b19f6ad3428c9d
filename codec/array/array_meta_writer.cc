#include "codec/array/array_meta_writer.h"

#include <limits>

#include "codec/core/byte_writer.h"
#include "codec/core/msgpack_markers.h"

namespace framefs::codec {
namespace {

constexpr std::size_t kMaxDimensions = 16;
constexpr std::uint8_t kVersion = 0;
constexpr std::uint8_t kDtypeOfNumpy = 0;

template <std::integral T>
void append_extents(ByteWriter& out, std::uint8_t marker, std::span<const T> extents) {
  out.u8(static_cast<std::uint8_t>(kMarkerFixArray + extents.size()));
  for (const auto extent : extents) {
    out.u8(marker);
    out.be(extent);
  }
}

}  // namespace

Result<std::vector<std::byte>> encode_b2nd_metalayer(std::span<const std::int64_t> shape,
                                                     std::span<const std::int32_t> chunkshape,
                                                     std::span<const std::int32_t> blockshape,
                                                     std::string_view dtype) {
  if (shape.size() > kMaxDimensions || chunkshape.size() != shape.size() ||
      blockshape.size() != shape.size()) {
    return fail_value(Errc::bad_field, "ndim", 2, static_cast<std::int64_t>(shape.size()));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool is_empty = shape[i] == 0;
    const bool good = shape[i] >= 0 && chunkshape[i] >= (is_empty ? 0 : 1) &&
                      blockshape[i] >= (is_empty ? 0 : 1) && blockshape[i] <= chunkshape[i];
    if (!good) return fail_value(Errc::bad_field, "shape", 3, static_cast<std::int64_t>(i));
  }
  if (dtype.empty() || dtype.size() > std::numeric_limits<std::int32_t>::max()) {
    return fail(Errc::bad_field, "dtype", 3);
  }
  ByteWriter out;
  out.u8(kMarkerFixArray + 7);
  out.u8(kVersion);
  out.u8(static_cast<std::uint8_t>(shape.size()));
  append_extents(out, kMarkerInt64, shape);
  append_extents(out, kMarkerInt32, chunkshape);
  append_extents(out, kMarkerInt32, blockshape);
  out.u8(kDtypeOfNumpy);
  out.u8(kMarkerStr32);
  out.be(static_cast<std::uint32_t>(dtype.size()));
  out.append(std::as_bytes(std::span(dtype)));
  return std::move(out).take();
}

}  // namespace framefs::codec
