#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/array/array_meta.h"
#include "codec/core/result.h"
#include "codec/core/units.h"

namespace framefs::codec {

// What the header of an array's frame says of its chunks.
struct FrameExtent {
  std::uint64_t nbytes = 0;     // decoded size of all chunks
  std::uint64_t chunksize = 0;  // decoded size of each
  std::uint64_t chunk_count = 0;
};

// Where the bytes of an array in C order lie in the decoded blocks of its frame's chunks.  Pure
// arithmetic: RunCursor walks over a range of them, for_each_touched_block() says which blocks that
// takes, BlockRunCursor which bytes of the range one block has.
// Immutable after make(); any number of threads may use it.
// Source: array format, "Layout"; codec/FORMAT.md.
class ArrayLayout {
 public:
  // Checks the array against its frame: the chunks are as large as the array says, and all there.
  // `typesize` is the frame's, which the chunks need not repeat.
  // Errors: bad_field; over_limit for blocks larger than the format allows.
  static Result<ArrayLayout> make(const ArrayMeta& meta, std::uint32_t typesize,
                                  const FrameExtent& frame);

  // Of the array in C order, without header.  0 where a dimension has no items, whatever chunks
  // the frame has then.
  [[nodiscard]] std::uint64_t nbytes() const noexcept { return nbytes_; }

  // What the header of every chunk must give as blocksize: else its blocks are not the array's.
  [[nodiscard]] std::uint32_t block_bytes() const noexcept { return block_bytes_; }
  [[nodiscard]] std::uint64_t blocks_per_chunk() const noexcept { return blocks_per_chunk_; }

  // The chunks that hold the array are the first of the frame; further ones belong to nothing.
  [[nodiscard]] std::uint64_t chunk_count() const noexcept { return chunk_count_; }
  // Chunks along each dimension; their numbers are row-major.
  [[nodiscard]] std::span<const std::uint64_t> chunk_grid() const noexcept {
    return std::span(chunk_grid_).first(ndim_);
  }

  // A C-order range that a row of consecutive chunks holds, all of it.
  struct Slab {
    ByteRange bytes;
    ChunkIndex first;
    std::uint64_t chunk_count = 0;
  };
  // How many sizes of slabs there are; at least 1, but 0 for an array of no bytes.
  [[nodiscard]] std::size_t levels() const noexcept { return axis_count_; }
  // The slab around byte `offset`, which is < nbytes().  At level 0 it takes the most chunks; each
  // higher level has fewer chunks and fewer bytes, and the last one has a single chunk.
  [[nodiscard]] Slab slab(std::uint64_t offset, std::size_t level) const;

  // One past the last of the block's bytes in C order, 0 for a block that lies outside of the array:
  // who reads on from there does not ask for the block again.
  // chunk < chunk_count(), block < blocks_per_chunk().
  [[nodiscard]] std::uint64_t end_of_block(ChunkIndex chunk, BlockIndex block) const;

  // One dimension of the array, or several that count as one because the bytes of a block go on
  // from one row to the next.  What is counted along it are its steps; those of the last axis are
  // single bytes, so that no byte offset is a special case.
  struct Axis {
    std::uint64_t extent = 0;  // steps of the array along it
    std::uint64_t chunk = 0;   // steps of a chunk, and of a block; both may pass the extent
    std::uint64_t block = 0;
    std::uint64_t step_bytes = 0;        // what one step is in the array's bytes
    std::uint64_t block_step_bytes = 0;  // and within a block
    std::uint64_t chunk_stride = 0;      // numbers from a chunk to the next one along the axis
    std::uint64_t block_stride = 0;      // likewise of blocks within a chunk
    std::uint64_t blocks_in_chunk = 0;   // along the axis
    std::uint64_t chunks_in_array = 0;
  };
  // From the outermost in; none for an array of no bytes.
  [[nodiscard]] std::span<const Axis> axes() const noexcept {
    return std::span(axes_).first(axis_count_);
  }

  // The steps [begin, end) along each axis that a block covers, cut to the array.
  struct Box {
    std::array<std::uint64_t, kMaxDims> begin{};
    std::array<std::uint64_t, kMaxDims> end{};
    bool empty = false;  // nothing is left of it; begin and end are void then
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
