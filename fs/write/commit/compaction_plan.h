#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace framefs::fs {

// Where the chunks of a contiguous frame lie after a compaction: one behind the other, in the order
// of the index, each entry with a chunk of its own.  Places are those of index entries; a negative
// entry has no chunk.
class CompactionPlan {
 public:
  // `sizes` are the stored sizes of the chunks; 0 for an entry without one.
  CompactionPlan(std::span<const std::int64_t> entries, std::vector<std::uint32_t> sizes);

  // The entries after the compaction.
  [[nodiscard]] const std::vector<std::int64_t>& entries() const noexcept { return after_; }
  [[nodiscard]] const std::vector<std::uint32_t>& sizes() const noexcept { return sizes_; }
  // Where the last chunk ends then.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }
  // The sizes of the chunks that have to leave the first `end` bytes first, because they lie where
  // others will; 0 for those that may stay, or stay for good.
  [[nodiscard]] std::vector<std::uint32_t> in_the_way(std::uint64_t end) const;

 private:
  const std::vector<std::int64_t> before_;
  const std::vector<std::uint32_t> sizes_;
  std::vector<std::int64_t> after_;
  std::uint64_t end_ = 0;
};

}  // namespace framefs::fs
