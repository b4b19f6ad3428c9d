#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>

#include "codec/array/array_layout.h"
#include "codec/core/units.h"

namespace framefs::codec {

// Iterates, in C order, over the runs of a range of an array's bytes that lie in one block.  A
// reader that gets the blocks of a range one by one, as they are decoded, copies from each block
// with this cursor and never looks a block up.
//
//   BlockRunCursor cursor(layout, chunk, block, range);
//   while (cursor.next()) use(cursor.run());
//
// Threads: one.  Lifetime: `layout` outlives it.
class BlockRunCursor {
 public:
  struct Run {
    std::uint64_t within = 0;  // offset in the block
    std::uint64_t offset = 0;  // offset in the array's C-order bytes
    std::uint64_t size = 0;
  };

  // `range` lies inside [0, layout.nbytes()]; chunk and block are as in ArrayLayout::box_of().
  BlockRunCursor(const ArrayLayout& layout, ChunkIndex chunk, BlockIndex block, ByteRange range);

  // Returns false after the last run.  run() has no meaning then, nor before the first call.
  bool next() {
    // The range can clip or exclude only the first and the last row.
    for (; more_ && row_offset_ < range_end_; step()) {
      const auto begin = std::max(row_offset_, range_begin_);
      const auto end = std::min(row_offset_ + row_bytes_, range_end_);
      if (begin >= end) continue;
      run_ = {row_within_ + (begin - row_offset_), begin, end - begin};
      step();
      return true;
    }
    return false;
  }

  [[nodiscard]] const Run& run() const noexcept { return run_; }

 private:
  void seek(const ArrayLayout::Box& box);

  // Moves to the next row of the block.
  void step() {
    for (Place& at : std::views::reverse(std::span(at_).first(outer_))) {
      if (++at.step != at.count) {
        row_offset_ += at.step_bytes;
        row_within_ += at.block_step_bytes;
        return;
      }
      row_offset_ -= (at.count - 1) * at.step_bytes;
      row_within_ -= (at.count - 1) * at.block_step_bytes;
      at.step = 0;
    }
    more_ = false;
  }

  // The cursor's position along one axis, counted from the block's first step.
  struct Place {
    std::uint64_t step = 0;
    std::uint64_t count = 0;
    std::uint64_t step_bytes = 0;
    std::uint64_t block_step_bytes = 0;
  };

  std::span<const ArrayLayout::Axis> axes_;  // the layout's
  std::size_t outer_ = 0;                    // the number of axes before the last
  std::uint64_t range_begin_;
  std::uint64_t range_end_;
  bool more_ = false;
  std::uint64_t row_offset_ = 0;  // offset of the row in the array
  std::uint64_t row_within_ = 0;  // offset of the row in the block
  std::uint64_t row_bytes_ = 0;
  Run run_;
  std::array<Place, kMaxDims> at_;
};

}  // namespace framefs::codec
