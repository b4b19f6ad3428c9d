#include "codec/array/array_layout.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "codec/core/checked.h"
#include "codec/core/limits.h"

namespace framefs::codec {
namespace {

constexpr std::uint32_t kMaxTypesize = std::numeric_limits<std::int32_t>::max();

// True if the blocks of `inner` span its whole extent and their rows follow each other in memory.
// A step of `outer` is then equal to `inner.extent` steps of `inner`.
bool continues(const ArrayLayout::Axis& outer, const ArrayLayout::Axis& inner) {
  return inner.extent == inner.block &&
         outer.block_step_bytes == inner.block * inner.block_step_bytes;
}

}  // namespace

Result<ArrayLayout> ArrayLayout::make(const ArrayMeta& meta, std::uint32_t typesize,
                                      const FrameExtent& frame) {
  ArrayLayout layout;
  FRAMEFS_CHECK(layout.measure(meta, typesize, frame));
  if (layout.nbytes_ > 0) layout.make_axes(meta, typesize);
  return layout;
}

// Sets all members except the axes.
Status ArrayLayout::measure(const ArrayMeta& meta, std::uint32_t typesize,
                            const FrameExtent& frame) {
  if (meta.ndim > kMaxDims) return fail_value(Errc::bad_field, "ndim", 0, meta.ndim);
  if (typesize == 0 || typesize > kMaxTypesize) {
    return fail_value(Errc::bad_field, "typesize", 0, typesize);
  }
  ndim_ = meta.ndim;
  std::optional<std::uint64_t> chunk_bytes = typesize;
  std::optional<std::uint64_t> block_bytes = typesize;
  std::optional<std::uint64_t> chunks = 1;
  std::uint64_t blocks = 1;
  bool has_items = true;
  for (std::size_t d = 0; d < ndim_; ++d) {
    const std::uint64_t chunk = meta.chunkshape[d];
    const std::uint64_t block = meta.blockshape[d];
    if (meta.shape[d] == 0) {
      has_items = false;
      continue;
    }
    if (chunk == 0) return fail_value(Errc::bad_field, "chunkshape", 0, 0);
    if (block == 0 || block > chunk) {
      return fail_value(Errc::bad_field, "blockshape", 0, meta.blockshape[d]);
    }
    chunk_grid_[d] = div_ceil(meta.shape[d], chunk);
    multiply(chunks, chunk_grid_[d]);
    multiply(block_bytes, block);
    // A chunk holds whole blocks, including those that its shape cuts.
    multiply(chunk_bytes, div_ceil(chunk, block) * block);
    // This overflows only if chunk_bytes overflows too.
    blocks *= div_ceil(chunk, block);
  }
  if (!has_items) return {};

  if (!block_bytes || *block_bytes > kMaxBlockBytes) return fail(Errc::over_limit, "blockshape");
  if (!chunk_bytes || *chunk_bytes != frame.chunksize) {
    return fail_value(Errc::bad_field, "chunkshape", 0, static_cast<std::int64_t>(frame.chunksize));
  }
  if (!chunks || *chunks > frame.chunk_count || *chunks > frame.nbytes / frame.chunksize) {
    return fail_value(Errc::bad_field, "shape", 0, static_cast<std::int64_t>(frame.chunk_count));
  }
  // The product cannot overflow: the existing chunks hold at least this many bytes.
  nbytes_ = typesize;
  for (std::size_t d = 0; d < ndim_; ++d) nbytes_ *= meta.shape[d];
  block_bytes_ = static_cast<std::uint32_t>(*block_bytes);
  blocks_per_chunk_ = blocks;
  chunk_count_ = *chunks;
  return {};
}

void ArrayLayout::make_axes(const ArrayMeta& meta, std::uint32_t typesize) {
  // The bytes within an item are an axis too, because chunks and blocks hold whole items.
  prepend_axis({.extent = typesize,
                .chunk = typesize,
                .block = typesize,
                .step_bytes = 1,
                .block_step_bytes = 1,
                .chunk_stride = 1,
                .block_stride = 1,
                .blocks_in_chunk = 1,
                .chunks_in_array = 1});
  Axis axis{
      .step_bytes = typesize, .block_step_bytes = typesize, .chunk_stride = 1, .block_stride = 1};
  for (std::size_t d = ndim_; d-- > 0;) {
    axis.extent = meta.shape[d];
    axis.chunk = meta.chunkshape[d];
    axis.block = meta.blockshape[d];
    axis.blocks_in_chunk = div_ceil(axis.chunk, axis.block);
    axis.chunks_in_array = chunk_grid_[d];
    prepend_axis(axis);
    axis.step_bytes *= axis.extent;
    axis.block_step_bytes *= axis.block;
    axis.chunk_stride *= axis.chunks_in_array;
    axis.block_stride *= axis.blocks_in_chunk;
  }
}

// Adds a dimension before the existing axes, or merges it into the first of them.
void ArrayLayout::prepend_axis(const Axis& axis) {
  if (axis_count_ > 0) {
    Axis& inner = axes_[0];
    if (axis.extent == 1) return;  // no step can be taken along it
    if (continues(axis, inner)) {
      Axis merged = axis;
      merged.extent = axis.extent * inner.extent;
      merged.chunk = axis.chunk * inner.extent;
      merged.block = axis.block * inner.extent;
      merged.step_bytes = inner.step_bytes;
      merged.block_step_bytes = inner.block_step_bytes;
      inner = merged;
      return;
    }
  }
  std::copy_backward(axes_.begin(), axes_.begin() + axis_count_, axes_.begin() + axis_count_ + 1);
  axes_[0] = axis;
  ++axis_count_;
}

ArrayLayout::Slab ArrayLayout::slab(std::uint64_t offset, std::size_t level) const {
  Slab out;
  std::uint64_t rest = offset;
  for (std::size_t d = 0; d < level; ++d) {
    const Axis& axis = axes_[d];
    const auto step = rest / axis.step_bytes;
    rest -= step * axis.step_bytes;
    out.bytes.offset += step * axis.step_bytes;
    out.first.value += step / axis.chunk * axis.chunk_stride;
  }
  const Axis& axis = axes_[level];
  const auto chunk = rest / axis.step_bytes / axis.chunk;
  const auto begin = chunk * axis.chunk;
  const auto end = begin + std::min(axis.chunk, axis.extent - begin);
  out.bytes.offset += begin * axis.step_bytes;
  out.bytes.size = (end - begin) * axis.step_bytes;
  out.first.value += chunk * axis.chunk_stride;
  out.chunk_count = axis.chunk_stride;
  return out;
}

ArrayLayout::Box ArrayLayout::box_of(ChunkIndex chunk, BlockIndex block) const {
  Box box;
  std::uint64_t left = block.value;  // the part of the index that no axis accounts for
  for (std::size_t d = 0; d < axis_count_; ++d) {
    const Axis& axis = axes_[d];
    const auto in_array = chunk.value / axis.chunk_stride % axis.chunks_in_array;
    const auto in_chunk = block.value / axis.block_stride % axis.blocks_in_chunk;
    const auto chunk_begin = in_array * axis.chunk;
    const auto chunk_end = chunk_begin + std::min(axis.chunk, axis.extent - chunk_begin);
    left -= in_chunk * axis.block_stride;
    box.begin[d] = std::min(chunk_begin + in_chunk * axis.block, chunk_end);
    box.end[d] = box.begin[d] + std::min(axis.block, chunk_end - box.begin[d]);
    if (box.begin[d] == box.end[d]) box.empty = true;
  }
  // The block lies after the array's end along a dimension that has no axis of its own.
  if (left != 0) box.empty = true;
  return box;
}

std::uint64_t ArrayLayout::end_of_block(ChunkIndex chunk, BlockIndex block) const {
  const Box box = box_of(chunk, block);
  if (box.empty) return 0;
  std::uint64_t last = 0;
  for (std::size_t d = 0; d < axis_count_; ++d) last += (box.end[d] - 1) * axes_[d].step_bytes;
  return last + 1;
}

std::uint64_t ArrayLayout::used_bytes(ChunkIndex chunk, BlockIndex block) const {
  const Box box = box_of(chunk, block);
  if (box.empty) return 0;
  std::uint64_t last = 0;
  for (std::size_t d = 0; d < axis_count_; ++d) {
    last += (box.end[d] - 1 - box.begin[d]) * axes_[d].block_step_bytes;
  }
  return last + 1;
}

}  // namespace framefs::codec
