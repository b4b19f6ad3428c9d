#include "fs/core/diagnostics/recent_lines.h"

#include <algorithm>
#include <utility>

namespace framefs::fs {

void RecentLines::add(std::string line) {
  if (line.size() > kMaxLineBytes) {
    line.resize(kMaxLineBytes - 3);
    line += "...";
  }
  line.shrink_to_fit();
  lines_.push_back(std::move(line));
  if (lines_.size() <= kMaxLines) return;
  lines_.pop_front();
  ++first_;
}

RecentLines::Page RecentLines::page(std::uint64_t from, std::size_t max_bytes) const {
  const auto end = first_ + lines_.size();
  Page page{.first = std::clamp(from, first_, end), .lines = {}};
  std::size_t bytes = 0;
  for (auto number = page.first; number < end; ++number) {
    const auto& line = lines_[number - first_];
    if (!page.lines.empty() && line.size() > max_bytes - bytes) break;
    bytes += std::min(line.size(), max_bytes - bytes);
    page.lines.push_back(line);
  }
  return page;
}

}  // namespace framefs::fs
