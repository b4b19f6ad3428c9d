#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codec/core/result.h"
#include "codec/core/units.h"

namespace framefs::codec {

// The vl-metalayers of a cache of remote data that tell which of its blocks have been fetched.
inline constexpr const char* kFetchedBlocksLayer = "proxy-fetched-blocks";
inline constexpr const char* kFetchedChunksLayer = "proxy-fetched";
inline constexpr const char* kFetchedBlocksPerChunkLayer = "proxy-fetched-bpc";

// Which blocks of a cache of remote data are there.  The chunks do not tell: a chunk that was
// fetched may be special, and blocks that were not fetched are stored as zeros.
// Immutable after make(); any number of threads may use it.
// Source: codec/FORMAT.md, "Frames without their data".
class FetchedBlocks {
 public:
  struct Shape {
    std::uint64_t chunks = 0;
    std::uint64_t blocks_per_chunk = 0;  // 0 if nothing says it
  };
  // The decoded contents of the vl-metalayers above; nothing for a layer that the frame lacks.
  using Content = std::optional<std::vector<std::byte>>;
  struct Layers {
    Content blocks;
    Content chunks;
  };
  // The number in the layer kFetchedBlocksPerChunkLayer; 0 if there is none.
  static std::uint64_t parse_blocks_per_chunk(const Content& content);
  // A bitmap that cannot be parsed, or does not fit `shape`, counts as absent.
  static FetchedBlocks make(Shape shape, Layers layers);

  // Whether bitmaps tell what is there.  Without them, stored chunks are there, if they are not
  // special, and has() is true for all blocks.
  [[nodiscard]] bool is_recorded() const noexcept { return is_recorded_; }
  [[nodiscard]] std::uint64_t blocks_per_chunk() const noexcept { return shape_.blocks_per_chunk; }

  // Whether blocks [first, end) of a chunk are all there.
  [[nodiscard]] bool has(ChunkIndex chunk, std::uint64_t first, std::uint64_t end) const noexcept;
  [[nodiscard]] bool has_all(ChunkIndex chunk) const noexcept {
    return has(chunk, 0, shape_.blocks_per_chunk);
  }
  // Whether at least one block of a chunk is there.
  [[nodiscard]] bool has_any(ChunkIndex chunk) const noexcept;

  // If is_recorded(): the number of blocks that are there.
  [[nodiscard]] std::uint64_t count() const noexcept;
  [[nodiscard]] std::uint64_t total() const noexcept {
    return shape_.chunks * shape_.blocks_per_chunk;
  }

  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return sizeof(*this) + bits_.capacity();
  }

 private:
  [[nodiscard]] bool bit(std::uint64_t block) const noexcept;

  Shape shape_;  // without a shape in blocks, and if only chunks are recorded: one block each
  bool is_recorded_ = false;
  std::vector<std::byte> bits_;  // one for each block; empty: no block is there
};

}  // namespace framefs::codec
