#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include "fs/read/content_id.h"

namespace framefs::fs {

// The lock file of a node's frame, as LockFiles found it last.  Owner: LockFiles.
// Threads: one at a time.
class LockFileMemo {
 public:
  using Clock = std::chrono::steady_clock;

  // Notes that the frame with that content has a lock file, or has none.
  void note(ContentId content, bool exists) {
    content_ = content;
    exists_ = exists;
  }
  [[nodiscard]] bool exists() const noexcept { return exists_; }
  // Whether the lock file was looked for when the frame had that content.
  [[nodiscard]] bool is_of(ContentId content) const noexcept { return content_ == content; }

  // Notes the counter of the lock file, which each program that changes the frame advances.
  // Returns whether it has changed.
  [[nodiscard]] bool note_counter(std::uint64_t counter) {
    return std::exchange(counter_, counter) != counter;
  }

  // Notes that a wait for the lock was in vain.  Until `until`, readers do not wait.
  void note_busy(Clock::time_point until) noexcept { busy_until_ = until; }
  [[nodiscard]] bool is_busy(Clock::time_point now) const noexcept { return now < busy_until_; }

 private:
  bool exists_ = false;
  ContentId content_;
  std::uint64_t counter_ = 0;
  Clock::time_point busy_until_;
};

}  // namespace framefs::fs
