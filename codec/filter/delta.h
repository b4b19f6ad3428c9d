#pragma once

#include <cstddef>
#include <span>

namespace framefs::codec {

// Undo the delta filter, in place.  The first block of a chunk was XORed element by element with
// itself, every other block byte by byte with the first; an element is 1, 2, 4 or 8 bytes, as the
// typesize decides, and the bytes that fill no element are as they were.
// typesize > 0.  Threads: any.  Source: chunk format, filter 3; codec/FORMAT.md.
void undelta_first_block(std::size_t typesize, std::span<std::byte> block);

// `reference` is the first block after all its filters were undone.  What of `block` lies beyond
// its end stays as it is; in a sound chunk no block is longer than the first.
void undelta_block(std::size_t typesize, std::span<std::byte> block,
                   std::span<const std::byte> reference);

}  // namespace framefs::codec
