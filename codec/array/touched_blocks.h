#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/array/array_layout.h"
#include "codec/core/units.h"

namespace framefs::codec {

// Which blocks a range of an array's bytes lies in, without a look at its runs.  The steps of the
// range's first and last byte along each axis bound it in lexical order; the search descends axis by
// axis and asks of each row of blocks only how it lies to those bounds.
class TouchedBlocks {
 public:
  // `range` lies inside [0, layout.nbytes()].  Lifetime: `layout` outlives the object.
  TouchedBlocks(const ArrayLayout& layout, ByteRange range);

  // Calls found(ChunkIndex, BlockIndex) once for each block.  The order is near to that of the
  // range, and the same each time.
  template <class F>
  void for_each(F&& found) const {
    if (empty_) return;
    descend(0, {.from_first = true, .to_last = true}, {}, found);
  }

 private:
  using Steps = std::array<std::uint64_t, kMaxDims>;

  // How a row of blocks lies to the range, whose steps along the axes before were equal to those of
  // its first byte, of its last one, or both.
  struct Bounds {
    bool from_first = false;  // only what is not before first_
    bool to_last = false;     // only what is not after last_
    // The rows from first_ on have been searched: only blocks that end before it are new.
    bool unless_seen = false;
  };
  struct Place {
    std::uint64_t chunk = 0;
    std::uint64_t block = 0;
  };

  template <class F>
  void descend(std::size_t d, Bounds bounds, Place place, F& found) const {
    if (d == axes_.size()) {
      // Seen where it holds first_ itself.
      if (!bounds.unless_seen) found(ChunkIndex{place.chunk}, BlockIndex{place.block});
      return;
    }
    const ArrayLayout::Axis& axis = axes_[d];
    const auto begin = bounds.from_first ? first_[d] : 0;
    const auto end = bounds.to_last ? last_[d] + 1 : axis.extent;
    for (auto step = begin; step < end;) {
      const auto chunk = step / axis.chunk;
      const auto chunk_begin = chunk * axis.chunk;
      const auto chunk_end = chunk_begin + std::min(axis.chunk, axis.extent - chunk_begin);
      auto block = (step - chunk_begin) / axis.block;
      for (; step < std::min(chunk_end, end); ++block) {
        const auto block_begin = chunk_begin + block * axis.block;
        const auto block_end = block_begin + std::min(axis.block, chunk_end - block_begin);
        descend_into(
            d, {step, block_end}, bounds,
            {place.chunk + chunk * axis.chunk_stride, place.block + block * axis.block_stride},
            found);
        step = block_end;
      }
    }
  }

  struct Row {
    std::uint64_t begin;  // the first step along the axis that is both in the row and in the bounds
    std::uint64_t end;    // of the row
  };
  template <class F>
  void descend_into(std::size_t d, Row row, Bounds bounds, Place place, F& found) const {
    Bounds below;
    if (bounds.unless_seen) {
      if (row.end - 1 > first_[d]) return;
      below.unless_seen = row.end - 1 == first_[d];
    }
    const bool has_first = bounds.from_first && row.begin == first_[d];
    const bool has_last = bounds.to_last && row.end > last_[d];
    const auto steps = (has_last ? last_[d] + 1 : row.end) - row.begin;
    const bool one_for_both = has_first && has_last && steps == 1;
    const auto bounded = one_for_both ? 1U : (has_first ? 1U : 0U) + (has_last ? 1U : 0U);
    if (steps > bounded) {
      // Some step is between the bounds: all below it belongs to the range.
    } else if (one_for_both || !has_first || !has_last) {
      below.from_first = has_first;
      below.to_last = has_last;
    } else {
      descend(d + 1, {.from_first = true}, place, found);
      below.to_last = true;
      below.unless_seen = true;
    }
    descend(d + 1, below, place, found);
  }

  std::span<const ArrayLayout::Axis> axes_;  // of the layout
  bool empty_ = true;
  Steps first_{};
  Steps last_{};
};

}  // namespace framefs::codec
