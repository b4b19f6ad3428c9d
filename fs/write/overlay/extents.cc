#include "fs/write/overlay/extents.h"

#include <algorithm>

namespace framefs::fs {

void Extents::add(std::uint32_t begin, std::uint32_t end) {
  // All ranges that overlap or touch the new one are merged with it.
  const auto first = std::ranges::lower_bound(extents_, begin, {}, &Extent::end);
  auto last = first;
  for (; last != extents_.end() && last->begin <= end; ++last) {
    begin = std::min(begin, last->begin);
    end = std::max(end, last->end);
  }
  const auto at = extents_.erase(first, last);
  extents_.insert(at, {begin, end});
}

void Extents::truncate(std::uint32_t end) {
  std::erase_if(extents_, [end](const Extent& extent) { return extent.begin >= end; });
  if (!extents_.empty()) extents_.back().end = std::min(extents_.back().end, end);
}

std::vector<Extents::Extent>::const_iterator Extents::behind(std::uint32_t offset) const noexcept {
  return std::ranges::upper_bound(extents_, offset, {}, &Extent::end);
}

bool Extents::touches(std::uint32_t begin, std::uint32_t end) const noexcept {
  const auto first = behind(begin);
  return first != extents_.end() && first->begin < end;
}

bool Extents::covers(std::uint32_t begin, std::uint32_t end) const noexcept {
  if (begin >= end) return true;
  const auto first = behind(begin);
  return first != extents_.end() && first->begin <= begin && end <= first->end;
}

}  // namespace framefs::fs
