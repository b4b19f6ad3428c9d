#include "codec/filter/pipeline.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "codec/core/id_names.h"
#include "codec/filter/bytedelta.h"
#include "codec/filter/delta.h"
#include "codec/filter/filter_ids.h"
#include "codec/filter/ndcell.h"
#include "codec/filter/shuffle.h"

namespace framefs::codec {

using namespace filter_id;

namespace {

// Whether a cell with that side in every dimension has no more items than the block.
bool cell_fits(std::uint32_t side, const BlockShape& block) {
  std::uint64_t block_items = 1;  // fits, because the block's size in bytes does
  for (const auto dim : block.used_dims()) block_items *= dim;
  std::uint64_t cell_items = 1;  // stops when it exceeds the block's
  for (std::size_t i = 0; i < block.ndim && cell_items <= block_items; ++i) cell_items *= side;
  return cell_items <= block_items;
}

// Writers of ndmean use the side that a cell has in the first dimension as the step in all
// dimensions.  If the block is smaller than a cell in the first dimension and larger in another,
// cells overlap and parts of the block are in no cell.  Source: codec/ERRATA.md, "ndmean".
bool ndmean_loses_items(std::uint32_t side, const BlockShape& block) {
  const auto dims = block.used_dims();
  return dims.front() < side &&
         std::ranges::any_of(dims, [side](std::uint32_t dim) { return dim > side; });
}

}  // namespace

Result<FilterPipeline> FilterPipeline::make(const FilterSlots& slots, const PipelineShape& shape) {
  if (shape.typesize == 0 || shape.schunk_typesize == 0) {
    return fail(Errc::bad_field, "typesize", 3);
  }
  FilterPipeline pipeline;
  pipeline.bitshuffle_tail_ = shape.bitshuffle_tail;
  for (std::size_t slot = slots.size(); slot-- > 0;) {
    const auto [id, meta] = slots[slot];
    switch (id) {
      case kNone:
      case kTruncPrec:  // lossy filters: nothing to reverse
      case kIntTrunc:
        break;
      case kShuffle:
        // Releases before 2.23.1 ignored the parameter.  A writer that sets it uses it.
        pipeline.add(Pass::unshuffle, meta != 0 ? meta : shape.typesize);
        break;
      case kBitshuffle:
        pipeline.add(Pass::bitunshuffle, shape.typesize);
        break;
      case kDelta:
        pipeline.add(Pass::undelta, shape.typesize);
        break;
      case kBytedeltaBuggy:
        pipeline.add(Pass::unbytedelta_anew, meta != 0 ? meta : shape.schunk_typesize);
        break;
      case kBytedelta:
        pipeline.add(Pass::unbytedelta, meta != 0 ? meta : shape.schunk_typesize);
        break;
      case kNdcell:
      case kNdmean:
        FRAMEFS_CHECK(pipeline.add_cells(slots[slot], slot, shape));
        break;
      default:
        return fail_value(is_reserved(id) ? Errc::bad_field : Errc::unsupported, filter_label(id),
                          kFiltersAt + slot, id);
    }
  }
  return pipeline;
}

// Source: chunk format, "Filters"; ndcell.c, ndmean.c.
Status FilterPipeline::add_cells(const FilterSlot& slot, std::uint64_t slot_number,
                                 const PipelineShape& shape) {
  const auto at = kFiltersAt + slot_number;
  if (!shape.block_shape)
    return fail_value(Errc::bad_field, "cell filter without an array", at, slot.id);
  const BlockShape& block = *shape.block_shape;
  if (block.ndim == 0 || block.ndim > kMaxCellDims) {
    return fail_value(Errc::bad_field, "ndim of a cell filter", at, block.ndim);
  }
  const auto bytes = block_bytes(block, shape.schunk_typesize);
  if (!bytes || *bytes == 0 || *bytes > kMaxBlockBytes) {
    return fail(Errc::bad_field, "block shape of a cell filter", at);
  }
  const std::uint32_t side = slot.meta;
  const bool is_mean = slot.id == kNdmean;
  if (side == 0 ||
      (is_mean ? side > std::numeric_limits<std::int8_t>::max() : !cell_fits(side, block))) {
    return fail_value(Errc::bad_field, "cell side", kFiltersMetaAt + slot_number, side);
  }
  if (is_mean && shape.schunk_typesize != 4 && shape.schunk_typesize != 8) {
    return fail_value(Errc::bad_field, "typesize of ndmean", at, shape.schunk_typesize);
  }
  if (is_mean && ndmean_loses_items(side, block)) {
    return fail_value(Errc::bad_field, "cells of ndmean", at, side);
  }
  add(Pass::unndcell, side);
  block_shape_ = block;
  item_bytes_ = shape.schunk_typesize;
  array_block_bytes_ = *bytes;
  return {};
}

Status FilterPipeline::check_block(std::size_t block_bytes) const {
  if (array_block_bytes_ == 0 || block_bytes == array_block_bytes_) return {};
  return fail_value(Errc::bad_field, "block size of a cell filter", 0,
                    static_cast<std::int64_t>(block_bytes));
}

void FilterPipeline::add(Pass pass, std::uint32_t width) {
  if (pass == Pass::unshuffle && width == 1) return;  // moves no byte
  steps_[size_++] = Step{pass, width};
  if (pass == Pass::unshuffle || pass == Pass::bitunshuffle || pass == Pass::unndcell) ++moves_;
  if (pass == Pass::undelta) uses_delta_ = true;
}

std::span<std::byte> FilterPipeline::input(std::span<std::byte> out,
                                           std::span<std::byte> scratch) const {
  return moves_ % 2 == 0 ? out : scratch.first(out.size());
}

// The number of byte planes, if all filters work on such planes: an element then needs only its own
// byte of each plane, or also the bytes before it.  Otherwise 0.
std::uint32_t FilterPipeline::plane_width() const noexcept {
  if (size_ == 0 || steps_[size_ - 1].pass != Pass::unshuffle) return 0;
  const auto width = steps_[size_ - 1].width;
  const auto is_alike = [width](const Step& step) {
    return step.pass == Pass::unbytedelta && step.width == width;
  };
  return std::ranges::all_of(std::span(steps_).first(size_ - 1), is_alike) ? width : 0;
}

std::size_t FilterPipeline::needed_prefix(ByteRange part, std::size_t block_bytes,
                                          std::size_t count, std::size_t stream) const {
  const std::size_t length = block_bytes / count;
  const std::size_t begin = stream * length;
  const std::size_t end = part.offset + part.size;
  if (is_identity()) {
    const bool is_beside = end <= begin || part.offset >= begin + length;
    return is_beside ? 0 : std::min(length, end - begin);
  }
  const std::size_t width = plane_width();
  if (width == 0 || end > block_bytes / width * width) return length;
  const std::size_t elements = (end + width - 1) / width;
  if (count == width) return elements;
  if (count == 1) return length / width * (width - 1) + elements;
  return length;
}

void FilterPipeline::decode_part(std::span<std::byte> out, std::span<std::byte> scratch,
                                 ByteRange part) const {
  assert(!uses_delta_ && part.offset <= out.size() && part.size <= out.size() - part.offset);
  if (is_identity()) return;
  const std::size_t width = plane_width();
  if (width == 0) return decode(out, scratch, {});
  const std::size_t elements = out.size() / width;
  const std::size_t first = std::min(elements, part.offset / width);
  const std::size_t last = std::min(elements, (part.offset + part.size + width - 1) / width);
  const auto planes = scratch.first(out.size());
  for (std::size_t i = 0; i + 1 < size_; ++i) unbytedelta_prefix(width, planes, last);
  unshuffle_elements(width, planes, out, first, last - first);
  std::ranges::copy(planes.subspan(elements * width), out.subspan(elements * width).begin());
}

void FilterPipeline::decode(std::span<std::byte> out, std::span<std::byte> scratch,
                            std::span<const std::byte> block0) const {
  assert(check_block(out.size()));
  assert(!needs_scratch() || scratch.size() >= out.size());
  std::span<std::byte> from = out;
  std::span<std::byte> to = needs_scratch() ? scratch.first(out.size()) : out;
  if (moves_ % 2 != 0) std::swap(from, to);
  for (const auto& [pass, width] : std::span(steps_).first(size_)) {
    switch (pass) {
      case Pass::unshuffle:
        unshuffle(width, from, to);
        std::swap(from, to);
        break;
      case Pass::bitunshuffle:
        bitunshuffle(width, from, to, bitshuffle_tail_);
        std::swap(from, to);
        break;
      case Pass::undelta:
        if (block0.empty()) {
          undelta_first_block(width, from);
        } else {
          undelta_block(width, from, block0);
        }
        break;
      case Pass::unbytedelta:
        unbytedelta(width, from, BytedeltaSum::whole_stream);
        break;
      case Pass::unbytedelta_anew:
        unbytedelta(width, from, BytedeltaSum::anew_after_vectors);
        break;
      case Pass::unndcell:
        unndcell(block_shape_.used_dims(), width, item_bytes_, from, to);
        std::swap(from, to);
        break;
    }
  }
}

}  // namespace framefs::codec
