#pragma once

#include <cstddef>
#include <span>

namespace framefs::codec {

// Undoes the byte shuffle of one block: `in` holds the first byte of every element, then the second
// of every element, and so on; the bytes that fill no element follow as they are.
// `in` and `out` have one size and do not overlap; width > 0, and may exceed that size.
// Threads: any.  Source: chunk format, filter 1; codec/FORMAT.md, "Filters".
void unshuffle(std::size_t width, std::span<const std::byte> in, std::span<std::byte> out);

// The same for `count` elements from `first` on alone, of those that the block has: it reads and writes
// no bytes but theirs.
void unshuffle_elements(std::size_t width, std::span<const std::byte> in, std::span<std::byte> out,
                        std::size_t first, std::size_t count);

// What unshuffle() undoes, under the same conditions.
void shuffle(std::size_t width, std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace framefs::codec
