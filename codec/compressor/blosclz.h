#pragma once

#include <cstddef>
#include <span>

#include "codec/core/result.h"

namespace framefs::codec {

// Decodes one BloscLZ stream, which must fill `out` exactly.
// Errors: truncated, bad_field; `at` is where in `in` the operation that failed begins.  `out` then
//   holds unspecified bytes, none of them from outside `in` and `out`.
// Lifetime: `in` and `out` do not overlap; nothing outside `out` is written, not even for a moment.
// Source: chunk format, BloscLZ streams.
Status decode_blosclz(std::span<const std::byte> in, std::span<std::byte> out);

// The first `count` bytes of the same: no more of `in` is decoded, or checked, than they need.  What
// `out` holds behind them is unspecified.  Errors: as above.
Status decode_blosclz_prefix(std::span<const std::byte> in, std::span<std::byte> out,
                             std::size_t count);

}  // namespace framefs::codec
