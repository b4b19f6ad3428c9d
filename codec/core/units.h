#pragma once

#include <compare>
#include <cstdint>

namespace framefs::codec {

// Which chunk of a frame, and which block of a chunk.  Types of their own because both are counted
// from zero beside byte positions, and one taken for another reads plausible wrong bytes.
struct ChunkIndex {
  std::uint64_t value = 0;
  auto operator<=>(const ChunkIndex&) const = default;
};

struct BlockIndex {
  std::uint64_t value = 0;
  auto operator<=>(const BlockIndex&) const = default;
};

// Bytes [offset, offset + size) of some stream that the surrounding name tells.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  auto operator<=>(const ByteRange&) const = default;
};

}  // namespace framefs::codec
