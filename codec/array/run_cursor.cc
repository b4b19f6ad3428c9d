#include "codec/array/run_cursor.h"

namespace framefs::codec {

RunCursor::RunCursor(const ArrayLayout& layout, ByteRange range)
    : axes_(layout.axes()), left_(range.size) {
  run_.offset = range.offset;
  if (left_ == 0) return;
  std::uint64_t rest = range.offset;
  for (std::size_t d = 0; d < axes_.size(); ++d) {
    const auto step = rest / axes_[d].step_bytes;
    rest -= step * axes_[d].step_bytes;
    enter(axes_[d], d + 1 < axes_.size() ? outer_[d] : inner_, step);
  }
}

void RunCursor::enter(const ArrayLayout::Axis& axis, Position& at, std::uint64_t step) {
  const auto chunk = step / axis.chunk;
  const auto chunk_begin = chunk * axis.chunk;
  const auto block = (step - chunk_begin) / axis.block;
  const auto block_begin = chunk_begin + block * axis.block;
  at.step = step;
  at.chunk_edge = chunk_begin + std::min(axis.chunk, axis.extent - chunk_begin);
  at.edge = block_begin + std::min(axis.block, at.chunk_edge - block_begin);
  at.chunk = chunk * axis.chunk_stride;
  at.block = block * axis.block_stride;
  at.within = (step - block_begin) * axis.block_step_bytes;
  run_.chunk.value += at.chunk;
  run_.block.value += at.block;
  within_ += at.within;
}

}  // namespace framefs::codec
