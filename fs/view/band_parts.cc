#include "fs/view/band_parts.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace framefs::fs {
namespace {

// The outermost axis along which a block has more than one step.
auto row_axis(std::span<const codec::ArrayLayout::Axis> axes) {
  return std::ranges::find_if(axes, [](const auto& axis) { return axis.block > 1; });
}

std::uint64_t div_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

}  // namespace

std::uint64_t BandParts::band_bytes(const codec::ArrayLayout& layout) noexcept {
  const auto axes = layout.axes();
  const auto rows = row_axis(axes);
  std::uint64_t bytes = layout.block_bytes();
  if (rows == axes.end()) return bytes;
  for (const auto& axis : std::span(std::next(rows), axes.end())) {
    bytes *= axis.chunks_in_array * axis.blocks_in_chunk;
  }
  return bytes;
}

std::optional<BandParts> BandParts::make(const codec::ArrayLayout& layout,
                                         std::uint64_t part_bytes) {
  const auto axes = layout.axes();
  const auto axis = row_axis(axes);
  if (axis == axes.end()) return std::nullopt;
  const auto most = part_bytes / axis->step_bytes;
  if (most < 2) return std::nullopt;
  // Parts of about equal size.
  const auto band = std::min({axis->block, axis->chunk, axis->extent});
  return BandParts(*axis, div_up(band, div_up(band, most)));
}

ByteRange BandParts::part_at(std::uint64_t offset) const noexcept {
  const auto step = offset / axis_.step_bytes % axis_.extent;
  const auto in_chunk = step % axis_.chunk;
  const auto in_block = in_chunk % axis_.block;
  const auto first = in_block - in_block % rows_;
  // The rows end with the block, with its chunk, and with the array.
  const auto rows =
      std::min({rows_, axis_.block - first, axis_.chunk - (in_chunk - in_block) - first,
                axis_.extent - (step - in_block) - first});
  const auto begin = offset - offset % axis_.step_bytes - (in_block - first) * axis_.step_bytes;
  return {begin, rows * axis_.step_bytes};
}

}  // namespace framefs::fs
