#include "codec/array/touched_blocks.h"

namespace framefs::codec {

TouchedBlocks::TouchedBlocks(const ArrayLayout& layout, ByteRange range)
    : axes_(layout.axes()), empty_(range.size == 0) {
  if (empty_) return;
  std::uint64_t first = range.offset;
  std::uint64_t last = range.offset + range.size - 1;
  for (std::size_t d = 0; d < axes_.size(); ++d) {
    first_[d] = first / axes_[d].step_bytes;
    last_[d] = last / axes_[d].step_bytes;
    first -= first_[d] * axes_[d].step_bytes;
    last -= last_[d] * axes_[d].step_bytes;
  }
}

}  // namespace framefs::codec
