#pragma once

#include <compare>
#include <cstdint>

namespace framefs::codec {

// The index of a chunk in its frame, and of a block in its chunk.  They are types of their own
// because a mix-up of indexes and byte positions would read plausible but wrong bytes.
struct ChunkIndex {
  std::uint64_t value = 0;
  auto operator<=>(const ChunkIndex&) const = default;
};

struct BlockIndex {
  std::uint64_t value = 0;
  auto operator<=>(const BlockIndex&) const = default;
};

// Bytes [offset, offset + size) of a stream that the surrounding name identifies.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  auto operator<=>(const ByteRange&) const = default;
};

}  // namespace framefs::codec
