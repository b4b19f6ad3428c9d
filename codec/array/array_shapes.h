#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace framefs::codec {

// The shapes of an array's chunks and of their blocks, in items.
struct ArrayShapes {
  std::vector<std::int32_t> chunk;
  std::vector<std::int32_t> block;
};

// Returns shapes with about the same length in every dimension, except the last, which is a few
// times longer because its items are adjacent.  A chunk, rounded up to whole blocks, has at most
// `chunk_bytes`, a block at most `block_bytes`; both have at least one item.
ArrayShapes choose_array_shapes(std::span<const std::uint64_t> shape, std::uint32_t typesize,
                                std::uint64_t chunk_bytes, std::uint64_t block_bytes);

}  // namespace framefs::codec
