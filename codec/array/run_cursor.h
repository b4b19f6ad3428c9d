#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/array/array_layout.h"
#include "codec/core/units.h"

namespace framefs::codec {

// Bytes that are contiguous both in the array and in one decoded block.
struct ArrayRun {
  ChunkIndex chunk;
  BlockIndex block;
  std::uint64_t within = 0;  // offset in the block
  std::uint64_t offset = 0;  // offset in the array's C-order bytes
  std::uint64_t size = 0;
};

// Iterates over a range of the array's bytes in C order, run by run:
//
//   RunCursor cursor(layout, range);
//   while (cursor.next()) use(cursor.run());
//
// A row of an array may be only a few bytes long.  Hence a step does not divide and allocates
// nothing, and all of it is inline.
// Threads: one.  Lifetime: `layout` outlives it.
class RunCursor {
 public:
  // `range` lies inside [0, layout.nbytes()].
  RunCursor(const ArrayLayout& layout, ByteRange range);

  // Returns false at the end of the range.  run() has no meaning then, nor before the first call.
  bool next() {
    if (left_ == 0) return false;
    if (run_.size != 0) step();
    run_.within = within_;
    run_.offset += run_.size;
    run_.size = std::min(inner_.edge - inner_.step, left_);
    left_ -= run_.size;
    return true;
  }

  [[nodiscard]] const ArrayRun& run() const noexcept { return run_; }

  // Whether run() has the last of its block's bytes in C order.  A reader that continues from there
  // does not need the block again.
  [[nodiscard]] bool ends_block() const {
    if (inner_.step + run_.size != inner_.edge) return false;
    return std::ranges::all_of(std::span(outer_).first(axes_.size() - 1),
                               [](const Position& at) { return at.step + 1 == at.edge; });
  }

 private:
  // The cursor's position along one axis, and its contribution to the sums over all axes.
  struct Position {
    std::uint64_t step = 0;
    std::uint64_t edge = 0;        // the first step after the block, or after the array
    std::uint64_t chunk_edge = 0;  // the first step after the chunk, or after the array
    std::uint64_t chunk = 0;
    std::uint64_t block = 0;
    std::uint64_t within = 0;
  };

  // Moves to the run after the current one.  The current run ends at an edge, and the range
  // continues.
  void step() {
    if (enter_next_block(axes_.back(), inner_)) return;
    for (std::size_t d = axes_.size() - 1; d-- > 0;) {
      Position& at = outer_[d];
      if (at.step + 1 != at.edge) {
        ++at.step;
        at.within += axes_[d].block_step_bytes;
        within_ += axes_[d].block_step_bytes;
        return;
      }
      if (enter_next_block(axes_[d], at)) return;
    }
  }

  // Moves to the edge along an axis.  At the edge of the array, moves back to the start and returns
  // false.
  bool enter_next_block(const ArrayLayout::Axis& axis, Position& at) {
    within_ -= at.within;
    at.within = 0;
    if (at.edge == axis.extent) {
      run_.chunk.value -= at.chunk;
      run_.block.value -= at.block;
      at.chunk = 0;
      at.block = 0;
      at.step = 0;
      at.chunk_edge = std::min(axis.chunk, axis.extent);
      at.edge = std::min(axis.block, at.chunk_edge);
      return false;
    }
    at.step = at.edge;
    if (at.step == at.chunk_edge) {
      run_.chunk.value += axis.chunk_stride;
      at.chunk += axis.chunk_stride;
      run_.block.value -= at.block;
      at.block = 0;
      at.chunk_edge += std::min(axis.chunk, axis.extent - at.chunk_edge);
    } else {
      run_.block.value += axis.block_stride;
      at.block += axis.block_stride;
    }
    at.edge += std::min(axis.block, at.chunk_edge - at.edge);
    return true;
  }

  // Sets the cursor's position along an axis for the first time.
  void enter(const ArrayLayout::Axis& axis, Position& at, std::uint64_t step);

  std::span<const ArrayLayout::Axis> axes_;  // the layout's
  std::uint64_t left_ = 0;
  std::uint64_t within_ = 0;
  ArrayRun run_;
  Position inner_;                        // along the last axis
  std::array<Position, kMaxDims> outer_;  // along the other axes
};

}  // namespace framefs::codec
