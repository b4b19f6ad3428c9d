#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/array/array_layout.h"
#include "codec/core/units.h"

namespace framefs::codec {

// Lists the blocks that hold a range of an array's bytes, without iterating over its runs.  Along
// each axis the first and the last byte of the range have a step; these steps bound the range in
// lexical order.  The search descends axis by axis and only compares each row of blocks with the
// bounds.
class TouchedBlocks {
 public:
  // `range` lies inside [0, layout.nbytes()].  Lifetime: `layout` outlives the object.
  TouchedBlocks(const ArrayLayout& layout, ByteRange range);

  // Calls found(ChunkIndex, BlockIndex) once for each block.  The order is deterministic and close
  // to the order of the range.
  template <class F>
  void for_each(F&& found) const {
    if (empty_) return;
    descend(0, {.from_first = true, .to_last = true}, {}, found);
  }

 private:
  using Steps = std::array<std::uint64_t, kMaxDims>;

  // Which bounds apply to a row of blocks.  A bound applies while the steps along the earlier axes
  // equal those of the range's first byte, or of its last byte.
  struct Bounds {
    bool from_first = false;  // only blocks that do not end before first_
    bool to_last = false;     // only blocks that do not begin after last_
    // An earlier descent covered the rows from first_ on: only blocks that end before first_ are
    // new.
    bool unless_seen = false;
  };
  struct Place {
    std::uint64_t chunk = 0;
    std::uint64_t block = 0;
  };

  template <class F>
  void descend(std::size_t d, Bounds bounds, Place place, F& found) const {
    if (d == axes_.size()) {
      // The block was found before if it contains first_.
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
    std::uint64_t begin;  // the first step along the axis in both the row and the bounds
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
      // At least one step lies strictly between the bounds, so everything below it is in the range.
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

  std::span<const ArrayLayout::Axis> axes_;  // the layout's
  bool empty_ = true;
  Steps first_{};
  Steps last_{};
};

}  // namespace framefs::codec
