#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/core/result.h"

namespace framefs::codec {

// A cell is a square of so many bytes a side: the codec's parameter in the chunk header.
[[nodiscard]] constexpr bool is_ndlz_cell_side(std::uint8_t side) noexcept {
  return side == 4 || side == 8;
}

// Decodes one NDLZ stream, which must fill `out` exactly: a plane of bytes, whose sides the stream
// itself tells, cut into cells.  What follows the last cell is left alone, as the reference library
// does.
// Errors: truncated where the stream ends early; bad_field for a cell side that is none, a plane of
//   another size, an unknown token, a reference to before the stream or past its end.  `at` counts
//   from the stream's start; `out` then holds unspecified bytes.
// Source: chunk format, "Plugin codecs"; ndlz4x4.c, ndlz8x8.c.
Status decode_ndlz(std::uint8_t cell_side, std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace framefs::codec
