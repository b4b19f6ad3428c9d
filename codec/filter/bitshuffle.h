#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace framefs::codec {

// Bits are shuffled in groups of eight elements.  The value says how the writer treated a block
// whose elements do not fill the last group.  Source: codec/FORMAT.md, "Filters".
enum class BitshuffleTail : std::uint8_t {
  // Since 2.0.0-beta.5: that group and the bytes after it are stored unfiltered.
  copy_partial_group,
  // Before, and in Blosc1: the whole block is stored unfiltered.
  copy_whole_block,
};

// Reverses the bit shuffle of one block whose elements have `typesize` bytes.
// `in` and `out` have equal sizes and do not overlap.  typesize > 0, and may exceed that size.
// Threads: any.  Source: chunk format, filter 2; codec/FORMAT.md, "Filters".
void bitunshuffle(std::size_t typesize, std::span<const std::byte> in, std::span<std::byte> out,
                  BitshuffleTail tail);

// The inverse of bitunshuffle() with BitshuffleTail::copy_partial_group, the rule for new blocks.
// The same conditions apply.
void bitshuffle(std::size_t typesize, std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace framefs::codec
