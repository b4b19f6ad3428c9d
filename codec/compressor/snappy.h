#pragma once

#include <cstddef>
#include <span>

#include "codec/core/result.h"

namespace framefs::codec {

// Decodes one raw Snappy stream, which must fill `out` exactly and end where `in` ends.
// Errors: truncated, bad_field; `at` is the offset in `in` of the failed element.  The content of
// `out` is then undefined.
// Lifetime: the buffers do not overlap.  Nothing outside `out` is written, not even temporarily.
// Source: chunk format, codecs and dictionaries; format_description.txt of Snappy.
Status decode_snappy(std::span<const std::byte> in, std::span<std::byte> out);

// Decodes only the first `count` bytes: decodes, and checks, no more of `in` than they need.  The
// rest of `out` is undefined.  Errors: as above.
Status decode_snappy_prefix(std::span<const std::byte> in, std::span<std::byte> out,
                            std::size_t count);

}  // namespace framefs::codec
