#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "codec/array/array_layout.h"
#include "fs/view/frame_chunks.h"

namespace framefs::fs {

// Copies what a range of an array in C order needs out of the array's blocks.
// Threads: any number, with a batch for each.
class ArrayBlocks {
 public:
  // Applies even to tiny blocks, because each block costs a request, a place in the cache, and
  // more.
  static constexpr std::uint64_t kMaxAtOnce = 4096;

  struct Block {
    ChunkIndex chunk;
    BlockIndex block;
  };
  // The chunk that was opened last: blocks side by side lie in one.
  struct OpenedChunk {
    std::shared_ptr<const codec::Chunk> chunk{};
    ChunkIndex index{};
  };
  // Blocks that are to be decoded for a range of the array, and the place of its bytes.
  struct Batch {
    ByteRange range;
    std::span<std::byte> out;  // for all of the range
    std::vector<Block> blocks{};
    std::vector<BlockRequest> requests{};  // one for each block
    HeldTables tables{};
    OpenedChunk opened{};
    void add(Block block, BlockRequest request) {
      blocks.push_back(block);
      requests.push_back(std::move(request));
    }
    // After the blocks have been decoded.
    void clear() {
      blocks.clear();
      requests.clear();
      tables = {};
    }
  };

  // `frame` is readable.  Lifetime: both outlive this object.
  ArrayBlocks(const FrameChunks& frame, const codec::ArrayLayout& layout)
      : frame_(frame), layout_(layout) {}

  [[nodiscard]] const FrameChunks& frame() const noexcept { return frame_; }
  [[nodiscard]] const codec::ArrayLayout& layout() const noexcept { return layout_; }

  // Opens the chunk of a block, unless it is open.
  // Errors: bad_field, if it is not split into blocks as the array is; those of the chunk.
  Status open_chunk(ChunkIndex index, OpenedChunk& opened) const;
  // The request for a block of a chunk from open_chunk().
  [[nodiscard]] BlockRequest request(std::shared_ptr<const codec::Chunk> chunk, Block block) const;
  // Copies the bytes of a block that needs no decoding; other blocks join the batch.
  Status plan(Batch& batch, Block block) const;
  // Copies the bytes of the batch's block number `i` from the decoded block.
  void copy(const Batch& batch, std::size_t i, std::span<const std::byte> block) const;
  // Decodes and copies of each block in the batch only the bytes that its range needs, with those
  // between them.  The frame has_parts().
  Status decode_parts(const Batch& batch) const;
  // The same for the blocks for which that is the better way, which leave the batch: see
  // BlockParts::is_early().  A damaged block stays in the batch, and so do all blocks of a
  // frame without parts.
  Status take_early_parts(Batch& batch) const;

 private:
  [[nodiscard]] Result<BlockFetcher::Block> read_plain(const codec::Chunk& chunk,
                                                       Block block) const;
  Status decode(const Batch& batch, std::span<const BlockPart> parts) const;
  void copy_runs(const Batch& batch, Block block, std::span<const std::byte> bytes) const;
  [[nodiscard]] ByteRange needed_part(Block block, ByteRange range) const;

  const FrameChunks& frame_;
  const codec::ArrayLayout& layout_;
};

}  // namespace framefs::fs
