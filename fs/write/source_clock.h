#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

namespace framefs::fs {

// The time of changes that the mount makes, in one order with the times that the kernel gives to
// files of SOURCE.  The kernel takes most of these from a coarse clock, and some from a fine one
// once a program has looked at a file.
// Threads: any number.
class SourceClock {
 public:
  // Not before any time that note() was called with, unless the clock was set back since.
  [[nodiscard]] timespec now() const noexcept;
  // The same for a change after one at `last`, and another time than that.
  [[nodiscard]] timespec now_after(const timespec& last) const noexcept;
  // To be called with the time of the last change (st_ctim) of files of SOURCE: no program can set
  // that time.
  void note(const timespec& time) noexcept;

 private:
  std::atomic<std::int64_t> latest_ns_{0};  // nothing else is inferred from it
};

}  // namespace framefs::fs
