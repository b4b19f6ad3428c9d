#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codec/array/array_layout.h"
#include "codec/array/run_cursor.h"
#include "fs/view/frame_chunks.h"
#include "fs/view/view.h"

namespace framefs::fs {

// The array that a frame holds, in C order: put together from n-dimensional blocks, with a NumPy
// header before it or without.
class ArrayView final : public View {
 public:
  enum class Header : std::uint8_t { none, npy };
  // `cache_bytes` is the budget of the cache that the frame is read through.
  ArrayView(std::shared_ptr<const FrameChunks> frame, Header header, std::uint64_t cache_bytes);

  [[nodiscard]] bool is_readable() const noexcept override { return array_.has_value(); }
  Result<ReadResult> read(std::uint64_t offset, std::uint64_t size, Access access) const override;
  [[nodiscard]] bool decode_ahead(ByteRange range) const override;
  // What comes before the array's bytes, and how many those are.  For an array that is_readable().
  [[nodiscard]] std::span<const std::byte> header() const noexcept {
    return std::as_bytes(std::span(array_->header));
  }
  [[nodiscard]] std::uint64_t array_bytes() const noexcept { return array_->layout.nbytes(); }
  // Calls body(place, within, size) for the pieces of a range of the array's bytes: where they lie in
  // the frame's decoded bytes, and where in the range.
  template <class Body>
  void for_each_piece(ByteRange range, Body&& body) const {
    const auto& layout = array_->layout;
    const std::uint64_t chunksize = frame_->frame()->header().chunksize;
    codec::RunCursor runs(layout, range);
    while (runs.next()) {
      const auto& run = runs.run();
      const auto place =
          run.chunk.value * chunksize + run.block.value * layout.block_bytes() + run.within;
      body(place, run.offset - range.offset, run.size);
    }
  }
  // Holes are runs of whole slabs of chunks that the index says are zero.
  Result<std::uint64_t> seek(Seek what, std::uint64_t offset) const override;

 private:
  struct Array {
    codec::ArrayLayout layout;
    std::string header;
  };
  struct Block {
    ChunkIndex chunk;
    BlockIndex block;
  };
  struct Batch;
  static Result<Array> open(const FrameChunks& frame, Header header);

  // What a read needs of a block's chunk; it must be cut into blocks as the array is.
  Result<std::shared_ptr<const codec::Chunk>> open_chunk(ChunkIndex index) const;
  Status fill(ReadResult& result, ByteRange range, std::span<std::byte> out, Access access) const;
  Status fill_batch(ReadResult& result, std::span<const Block> blocks, ByteRange range,
                    std::span<std::byte> out, Access access) const;
  Status plan_block(Batch& batch, Block block) const;
  Result<BlockFetcher::Block> read_plain_block(const codec::Chunk& chunk, Block block) const;
  void copy_block(const Batch& batch, Block block, std::span<const std::byte> bytes) const;
  [[nodiscard]] bool is_kept(Block block) const noexcept;
  Result<std::uint64_t> seek_in_array(Seek what, std::uint64_t offset) const;

  const std::shared_ptr<const FrameChunks> frame_;
  const Result<Array> array_;
  const std::uint64_t batch_bytes_;     // of blocks that are held at a time
  const std::uint32_t kept_per_mille_;  // of the blocks, when somebody reads it all
};

}  // namespace framefs::fs
