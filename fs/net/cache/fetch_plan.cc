#include "fs/net/cache/fetch_plan.h"

#include <algorithm>

#include "codec/core/checked.h"

namespace framefs::net {
namespace {

// Sorts the ranges and merges those that are near each other.
std::vector<ByteRange> merge(std::vector<ByteRange> missing, const FetchRules& rules,
                             const std::function<bool(ByteRange)>& may_bridge) {
  std::ranges::sort(missing);
  std::vector<ByteRange> merged;
  std::uint64_t wasted = 0;  // in the last of `merged`
  for (const auto& range : missing) {
    if (range.size == 0) continue;
    if (!merged.empty()) {
      auto& last = merged.back();
      const auto last_end = last.offset + last.size;
      const auto end = std::max(last_end, range.offset + range.size);
      if (range.offset <= last_end) {
        last.size = end - last.offset;
        continue;
      }
      const ByteRange gap{last_end, range.offset - last_end};
      const bool is_cheap = gap.size <= rules.cheap_gap_bytes &&
                            wasted + gap.size <= (end - last.offset) / kWasteShare;
      if (is_cheap && may_bridge(gap)) {
        wasted += gap.size;
        last.size = end - last.offset;
        continue;
      }
    }
    wasted = 0;
    merged.push_back(range);
  }
  return merged;
}

}  // namespace

std::vector<ByteRange> plan_fetches(std::vector<ByteRange> missing, const FetchRules& rules,
                                    const std::function<bool(ByteRange)>& may_bridge) {
  const auto merged = merge(std::move(missing), rules, may_bridge);
  std::uint64_t total = 0;
  for (const auto& range : merged) total += range.size;
  const auto part =
      std::clamp(codec::div_ceil(total, std::max<std::uint64_t>(1, rules.connections)),
                 rules.min_part_bytes, rules.max_part_bytes);
  std::vector<ByteRange> requests;
  for (const auto& range : merged) {
    const auto count = codec::div_ceil(range.size, part);
    const auto each = codec::div_ceil(range.size, count);
    for (std::uint64_t at = 0; at < range.size; at += each) {
      requests.push_back({range.offset + at, std::min(each, range.size - at)});
    }
  }
  return requests;
}

}  // namespace framefs::net
