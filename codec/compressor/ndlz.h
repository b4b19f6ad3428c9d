#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/core/result.h"

namespace framefs::codec {

// Whether this is a valid side of a square cell, in bytes: the codec's parameter in the chunk
// header.
[[nodiscard]] constexpr bool is_ndlz_cell_side(std::uint8_t side) noexcept {
  return side == 4 || side == 8;
}

// Decodes one NDLZ stream, which must fill `out` exactly.  The stream is a plane of bytes divided
// into cells; it begins with the sides of the plane.  As in the reference library, bytes after the
// last cell are ignored.
// Errors: truncated if the stream ends early; bad_field for an invalid cell side, a plane of
// another size, an unknown token, or a reference to bytes before the stream or past its end.  `at`
// counts from the stream's start.  The content of `out` is then undefined.
// Source: chunk format, "Plugin codecs"; ndlz4x4.c, ndlz8x8.c.
Status decode_ndlz(std::uint8_t cell_side, std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace framefs::codec
