#include "codec/array/block_run_cursor.h"

namespace framefs::codec {

BlockRunCursor::BlockRunCursor(const ArrayLayout& layout, ChunkIndex chunk, BlockIndex block,
                               ByteRange range)
    : axes_(layout.axes()), range_begin_(range.offset), range_end_(range.offset + range.size) {
  const auto box = layout.box_of(chunk, block);
  if (box.empty || range.size == 0) return;
  outer_ = axes_.size() - 1;
  more_ = true;
  for (std::size_t d = 0; d < outer_; ++d) {
    at_[d] = {.count = box.end[d] - box.begin[d],
              .step_bytes = axes_[d].step_bytes,
              .block_step_bytes = axes_[d].block_step_bytes};
  }
  row_bytes_ = box.end[outer_] - box.begin[outer_];
  seek(box);
  row_offset_ += box.begin[outer_];
}

// Moves to the first row that can hold bytes of the range, or to the row before it.  A large block
// has too many rows to try one by one.
void BlockRunCursor::seek(const ArrayLayout::Box& box) {
  // How the chosen steps compare with those of the range's first byte.
  enum class Side : std::uint8_t { same, before, behind };
  Side side = Side::same;
  std::uint64_t rest = range_begin_;
  for (std::size_t d = 0; d < outer_; ++d) {
    Place& at = at_[d];
    if (side == Side::same) {
      const auto wanted = rest / at.step_bytes;
      rest -= wanted * at.step_bytes;
      if (wanted < box.begin[d]) {
        side = Side::behind;
      } else if (wanted < box.end[d]) {
        at.step = wanted - box.begin[d];
      } else {
        side = Side::before;
      }
    }
    if (side == Side::before) at.step = at.count - 1;
    row_offset_ += (box.begin[d] + at.step) * at.step_bytes;
    row_within_ += at.step * at.block_step_bytes;
  }
}

}  // namespace framefs::codec
