#pragma once

#include <cstddef>
#include <span>

#include "codec/core/result.h"

namespace framefs::codec {

// Decodes one BloscLZ stream, which must fill `out` exactly.
// Errors: truncated, bad_field; `at` is the offset in `in` of the failed operation.  The content of
// `out` is then undefined, but has no bytes from outside `in` and `out`.
// Lifetime: `in` and `out` do not overlap.  Nothing outside `out` is written, not even temporarily.
// Source: chunk format, BloscLZ streams.
Status decode_blosclz(std::span<const std::byte> in, std::span<std::byte> out);

// Decodes only the first `count` bytes: decodes, and checks, no more of `in` than they need.  The
// rest of `out` is undefined.  Errors: as above.
Status decode_blosclz_prefix(std::span<const std::byte> in, std::span<std::byte> out,
                             std::size_t count);

}  // namespace framefs::codec
