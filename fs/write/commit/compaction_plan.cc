#include "fs/write/commit/compaction_plan.h"

#include <cstddef>
#include <utility>

namespace framefs::fs {

CompactionPlan::CompactionPlan(std::span<const std::int64_t> entries,
                               std::vector<std::uint32_t> sizes)
    : before_(entries.begin(), entries.end()), sizes_(std::move(sizes)), after_(before_) {
  for (std::size_t i = 0; i < after_.size(); ++i) {
    if (after_[i] < 0) continue;
    after_[i] = static_cast<std::int64_t>(end_);
    end_ += sizes_[i];
  }
}

std::vector<std::uint32_t> CompactionPlan::in_the_way(std::uint64_t end) const {
  auto sizes = sizes_;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (before_[i] == after_[i] || std::cmp_greater_equal(before_[i], end)) sizes[i] = 0;
  }
  return sizes;
}

}  // namespace framefs::fs
