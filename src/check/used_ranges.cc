#include "src/check/used_ranges.h"

#include <algorithm>
#include <iterator>

namespace framefs {

bool UsedRanges::add(codec::ByteRange range) {
  if (range.size == 0) return true;
  auto begin = range.offset;
  auto end = range.offset + range.size;
  // The first run that overlaps the range or touches it.
  auto at = ends_.upper_bound(begin);
  if (at != ends_.begin() && std::prev(at)->second >= begin) --at;
  std::uint64_t joined = 0;
  bool is_apart = true;
  while (at != ends_.end() && at->first <= end) {
    is_apart = is_apart && (at->second == begin || at->first == end);
    joined += at->second - at->first;
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    at = ends_.erase(at);
  }
  ends_.emplace_hint(at, begin, end);
  bytes_ += end - begin - joined;
  return is_apart;
}

}  // namespace framefs
