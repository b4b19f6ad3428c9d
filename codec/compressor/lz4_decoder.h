#pragma once

#include <cstddef>
#include <span>

#include "codec/core/result.h"

namespace framefs::codec {

// Decodes one raw LZ4 block, which must fill `out` exactly and end where `in` does.  A `dictionary`
// that is not empty stands for the text before it.
// Errors: truncated, bad_field; `at` is where in `in` the sequence that failed begins; over_limit for
//   buffers of 2 GiB or more.  `out` then holds unspecified bytes.
// Lifetime: the buffers do not overlap; nothing outside `out` is written, not even for a moment.
// Source: chunk format, codecs and dictionaries; lz4_Block_format.md.
Status decode_lz4(std::span<const std::byte> in, std::span<std::byte> out,
                  std::span<const std::byte> dictionary);

// The first `count` bytes of the same, without a dictionary: no more of `in` is decoded, or checked,
// than they need.  What `out` holds behind them is unspecified.  Errors: as above.
Status decode_lz4_prefix(std::span<const std::byte> in, std::span<std::byte> out,
                         std::size_t count);

}  // namespace framefs::codec
