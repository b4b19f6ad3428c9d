#include "fs/read/array_grid.h"

#include <algorithm>

#include "codec/core/checked.h"

namespace framefs::fs {

ArrayGrid ArrayGrid::of(std::uint64_t begin, const codec::ArrayLayout& layout) {
  std::vector<Axis> axes;
  if (layout.nbytes() == 0) return {};  // no byte lies in a block
  for (const auto& axis : layout.axes()) {
    const auto block = std::min(axis.block, axis.extent);
    axes.push_back({axis.step_bytes, block * axis.step_bytes, axis.extent * axis.step_bytes});
  }
  return {begin, std::move(axes)};
}

auto ArrayGrid::axis_of(std::uint64_t distance) const noexcept -> const Axis* {
  const auto found = std::ranges::find_if(
      axes_, [distance](const Axis& axis) { return axis.step_bytes <= distance; });
  return found == axes_.end() ? nullptr : &*found;
}

// The last band of an extent may be shorter than the others.
std::uint64_t ArrayGrid::band(const Axis& axis, std::uint64_t offset) const noexcept {
  const auto at = within(offset);
  const auto bands = codec::div_ceil(axis.extent_bytes, axis.band_bytes);
  return at / axis.extent_bytes * bands + at % axis.extent_bytes / axis.band_bytes;
}

std::uint64_t ArrayGrid::end_of_band(const Axis& axis, std::uint64_t offset,
                                     std::uint64_t ahead) const noexcept {
  const auto end = end_of_extent(axis, offset);
  const auto at = within(offset);
  const auto begin = at - at % axis.extent_bytes % axis.band_bytes;
  const auto left = (end - begin_ - begin) / axis.band_bytes;
  return ahead >= left ? end : begin_ + begin + (ahead + 1) * axis.band_bytes;
}

std::uint64_t ArrayGrid::end_of_extent(const Axis& axis, std::uint64_t offset) const noexcept {
  const auto at = within(offset);
  return begin_ + at - at % axis.extent_bytes + axis.extent_bytes;
}

}  // namespace framefs::fs
