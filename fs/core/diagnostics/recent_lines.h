#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace framefs::fs {

// The last lines of a log, numbered from 0.  Threads: one at a time.
class RecentLines {
 public:
  static constexpr std::size_t kMaxLines = 1000;
  // A longer line loses its end.  All lines together take at most 1 MB.
  static constexpr std::size_t kMaxLineBytes = 1000;

  void add(std::string line);

  struct Page {
    std::uint64_t first = 0;  // the number of the first line; that of the next one if there is none
    std::vector<std::string> lines;
  };
  // The lines from number `from` on that are left, as many as `max_bytes` hold; at least one if
  // there is any.
  [[nodiscard]] Page page(std::uint64_t from, std::size_t max_bytes) const;

 private:
  std::deque<std::string> lines_;
  std::uint64_t first_ = 0;  // the number of the first line in lines_
};

}  // namespace framefs::fs
