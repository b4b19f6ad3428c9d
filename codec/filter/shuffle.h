#pragma once

#include <cstddef>
#include <span>

namespace framefs::codec {

// Reverses the byte shuffle of one block.  `in` holds the first bytes of all elements, then all
// second bytes, and so on.  Bytes that do not fill an element follow unchanged.
// `in` and `out` have equal sizes and do not overlap.  width > 0, and may exceed that size.
// Threads: any.  Source: chunk format, filter 1; codec/FORMAT.md, "Filters".
void unshuffle(std::size_t width, std::span<const std::byte> in, std::span<std::byte> out);

// The same for only the `count` elements from `first` on.  No bytes of other elements are read or
// written.
void unshuffle_elements(std::size_t width, std::span<const std::byte> in, std::span<std::byte> out,
                        std::size_t first, std::size_t count);

// The inverse of unshuffle(), under the same conditions.
void shuffle(std::size_t width, std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace framefs::codec
