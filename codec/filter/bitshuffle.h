#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace framefs::codec {

// Bits are shuffled in groups of eight elements.  What a writer did with a block whose elements do
// not fill the last group.  Source: codec/FORMAT.md, "Filters".
enum class BitshuffleTail : std::uint8_t {
  copy_partial_group,  // since 2.0.0-beta.5: that group and the bytes after it are stored as they
                       // are
  copy_whole_block,    // before, and in Blosc 1: the whole block is stored as it is
};

// Undoes the bit shuffle of one block of elements of `typesize` bytes.
// `in` and `out` have one size and do not overlap; typesize > 0, and may exceed that size.
// Threads: any.  Source: chunk format, filter 2; codec/FORMAT.md, "Filters".
void bitunshuffle(std::size_t typesize, std::span<const std::byte> in, std::span<std::byte> out,
                  BitshuffleTail tail);

// What bitunshuffle() undoes under BitshuffleTail::copy_partial_group, the rule for new blocks, and
// under the same conditions.
void bitshuffle(std::size_t typesize, std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace framefs::codec
