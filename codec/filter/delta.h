#pragma once

#include <cstddef>
#include <span>

namespace framefs::codec {

// These functions reverse the delta filter in place.  Writers XOR the first block of a chunk with
// itself, element by element, and every other block with the first block, byte by byte.  An element
// has 1, 2, 4 or 8 bytes, depending on the typesize.  Bytes that do not fill an element are
// unchanged.
// typesize > 0.  Threads: any.  Source: chunk format, filter 3; codec/FORMAT.md.
void undelta_first_block(std::size_t typesize, std::span<std::byte> block);

// `reference` is the first block, completely decoded.  Bytes of `block` beyond the end of
// `reference` stay unchanged; in a valid chunk, no block is longer than the first.
void undelta_block(std::size_t typesize, std::span<std::byte> block,
                   std::span<const std::byte> reference);

}  // namespace framefs::codec
