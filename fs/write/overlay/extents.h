#pragma once

#include <cstdint>
#include <vector>

namespace framefs::fs {

// The byte ranges of a chunk that have been written: disjoint, in order, none touching the next.
// Threads: one.
class Extents {
 public:
  struct Extent {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    bool operator==(const Extent&) const = default;
  };

  // begin < end.
  void add(std::uint32_t begin, std::uint32_t end);
  // Removes everything from `end` on.
  void truncate(std::uint32_t end);

  // Whether all of [begin, end) has been added.
  [[nodiscard]] bool covers(std::uint32_t begin, std::uint32_t end) const noexcept;
  // Whether any byte of [begin, end) has been added.
  [[nodiscard]] bool touches(std::uint32_t begin, std::uint32_t end) const noexcept;
  [[nodiscard]] const std::vector<Extent>& all() const noexcept { return extents_; }

  // Calls body(begin, end, is_in) for the parts of [begin, end), in order.
  template <class Body>
  void for_each(std::uint32_t begin, std::uint32_t end, Body&& body) const {
    for (auto extent = behind(begin); extent != extents_.end(); ++extent) {
      if (begin == end || extent->begin >= end) break;
      if (extent->begin > begin) {
        body(begin, extent->begin, false);
        begin = extent->begin;
      }
      const auto to = extent->end < end ? extent->end : end;
      body(begin, to, true);
      begin = to;
    }
    if (begin < end) body(begin, end, false);
  }

 private:
  // The first extent that ends behind `offset`.
  [[nodiscard]] std::vector<Extent>::const_iterator behind(std::uint32_t offset) const noexcept;

  std::vector<Extent> extents_;
};

}  // namespace framefs::fs
