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

}  // namespace framefs::codec
