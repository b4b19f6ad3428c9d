#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/array/array_meta.h"
#include "codec/core/result.h"
#include "codec/core/units.h"

namespace framefs::codec {

// Size and number of the chunks of an array's frame, from the frame header.
struct FrameExtent {
  std::uint64_t nbytes = 0;     // decoded size of all chunks
  std::uint64_t chunksize = 0;  // decoded size of one full chunk
  std::uint64_t chunk_count = 0;
};

// Maps the bytes of an array in C order to the decoded blocks of its frame's chunks.  Pure
// arithmetic.  RunCursor iterates over a range of the bytes, for_each_touched_block() lists the
// blocks that the range needs, and BlockRunCursor lists the bytes of the range that one block
// holds.
// Immutable after make(); any number of threads may use it.
// Source: array format, "Layout"; codec/FORMAT.md.
class ArrayLayout {
 public:
  // Checks the array against its frame: the chunks have the size that the array requires, and none
  // is missing.  `typesize` is the frame's; the chunk headers need not repeat it.
  // Errors: bad_field; over_limit for blocks larger than the format allows.
  static Result<ArrayLayout> make(const ArrayMeta& meta, std::uint32_t typesize,
                                  const FrameExtent& frame);

  // The size of the array in C order, without the .npy header.  0 if a dimension has no items, even
  // if the frame has chunks.
  [[nodiscard]] std::uint64_t nbytes() const noexcept { return nbytes_; }

  // Every chunk header must have this blocksize; otherwise the chunk's blocks are not the array's.
  [[nodiscard]] std::uint32_t block_bytes() const noexcept { return block_bytes_; }
  [[nodiscard]] std::uint64_t blocks_per_chunk() const noexcept { return blocks_per_chunk_; }

  // The first chunks of the frame hold the array.  Further chunks are not used.
  [[nodiscard]] std::uint64_t chunk_count() const noexcept { return chunk_count_; }
  // Chunks along each dimension.  Chunks are numbered in row-major order.
  [[nodiscard]] std::span<const std::uint64_t> chunk_grid() const noexcept {
    return std::span(chunk_grid_).first(ndim_);
  }

  // A C-order range that a run of consecutive chunks holds completely.
  struct Slab {
    ByteRange bytes;
    ChunkIndex first;
    std::uint64_t chunk_count = 0;
  };
  // The number of slab sizes: at least 1, or 0 for an array of no bytes.
  [[nodiscard]] std::size_t levels() const noexcept { return axis_count_; }
  // The slab around byte `offset`, which is < nbytes().  The slab at level 0 has the most chunks.
  // Each higher level has fewer chunks and fewer bytes; the slab at the last level is a single
  // chunk.
  [[nodiscard]] Slab slab(std::uint64_t offset, std::size_t level) const;

  // The offset after the last byte, in C order, that the block holds; 0 for a block outside the
  // array.  A reader that continues from there does not need the block again.
  // chunk < chunk_count(), block < blocks_per_chunk().
  [[nodiscard]] std::uint64_t end_of_block(ChunkIndex chunk, BlockIndex block) const;

  // How many of the block's bytes, from its first one on, hold all that it has of the array.  The
  // bytes behind them pad the block.  0 for a block outside the array.
  [[nodiscard]] std::uint64_t used_bytes(ChunkIndex chunk, BlockIndex block) const;

  // One dimension of the array, or several merged into one because the rows of a block follow each
  // other in memory.  Positions along an axis are counted in steps.  A step of the last axis is one
  // byte, so that offsets within an item are no special case.
  struct Axis {
    std::uint64_t extent = 0;  // steps of the array along this axis
    std::uint64_t chunk = 0;   // steps of a chunk and of a block; both may exceed the extent
    std::uint64_t block = 0;
    std::uint64_t step_bytes = 0;        // size of a step in the array
    std::uint64_t block_step_bytes = 0;  // size of a step in a block
    std::uint64_t chunk_stride = 0;      // difference in number between adjacent chunks
    std::uint64_t block_stride = 0;      // difference in number between adjacent blocks of a chunk
    std::uint64_t blocks_in_chunk = 0;   // along this axis
    std::uint64_t chunks_in_array = 0;
  };
  // Outermost first; none for an array of no bytes.
  [[nodiscard]] std::span<const Axis> axes() const noexcept {
    return std::span(axes_).first(axis_count_);
  }

  // The steps [begin, end) that a block covers along each axis, clipped to the array.
  struct Box {
    std::array<std::uint64_t, kMaxDims> begin{};
    std::array<std::uint64_t, kMaxDims> end{};
    bool empty = false;  // the block is outside the array; begin and end have no meaning
  };
  // chunk < chunk_count(), block < blocks_per_chunk().
  [[nodiscard]] Box box_of(ChunkIndex chunk, BlockIndex block) const;

 private:
  ArrayLayout() = default;
  Status measure(const ArrayMeta& meta, std::uint32_t typesize, const FrameExtent& frame);
  void make_axes(const ArrayMeta& meta, std::uint32_t typesize);
  void prepend_axis(const Axis& axis);

  std::uint64_t nbytes_ = 0;
  std::uint64_t blocks_per_chunk_ = 0;
  std::uint64_t chunk_count_ = 0;
  std::uint32_t block_bytes_ = 0;
  std::uint8_t ndim_ = 0;
  std::uint8_t axis_count_ = 0;
  std::array<std::uint64_t, kMaxDims> chunk_grid_{};
  std::array<Axis, kMaxDims> axes_{};
};

}  // namespace framefs::codec
