#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "codec/core/result.h"

namespace framefs::codec {

// The library, and therefore all writers of such streams, count in int.
[[nodiscard]] inline bool is_lz4_size(std::span<const std::byte> bytes) noexcept {
  return std::in_range<int>(bytes.size());
}

// Decodes one raw LZ4 block, which must fill `out` exactly and end where `in` ends.  If
// `dictionary` is not empty, it is the text before the block.
// Errors: truncated, bad_field; `at` is the offset in `in` of the failed sequence; over_limit for
// buffers of 2 GiB or more.  The content of `out` is then undefined.
// Lifetime: the buffers do not overlap.  Nothing outside `out` is written, not even temporarily.
// Source: chunk format, codecs and dictionaries; lz4_Block_format.md.
Status decode_lz4(std::span<const std::byte> in, std::span<std::byte> out,
                  std::span<const std::byte> dictionary);

// Decodes only the first `count` bytes, without a dictionary: decodes, and checks, no more of `in`
// than they need.  The rest of `out` is undefined.  Errors: as above.
Status decode_lz4_prefix(std::span<const std::byte> in, std::span<std::byte> out,
                         std::size_t count);

}  // namespace framefs::codec
