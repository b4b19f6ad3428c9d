#pragma once

#include <atomic>
#include <functional>

namespace framefs::fuse {

// Waits a moment for the next request without sleep.  A program that works through the mount sends
// its next request some microseconds after it has the answer to the last one, and it takes longer
// than that to wake a thread that sleeps on another processor.  After a wait in vain, some waits
// are left out, the more the more waits were in vain.
// Threads: any number, of which one waits at a time.
class BriefWait {
 public:
  // Of 64 waits, at least one is tried.
  static constexpr unsigned kMaxInVain = 6;

  // `is_useful`: there are several processors.  On a single one, the wait would hold up the
  // program.
  explicit BriefWait(bool is_useful = has_processors()) noexcept : is_useful_(is_useful) {}

  // Returns when has_request() is true, after the moment, or at once.
  void wait(const std::function<bool()>& has_request);

 private:
  static bool has_processors() noexcept;

  const bool is_useful_;
  // Acquired and released: it protects the numbers.
  std::atomic<bool> is_waiting_{false};
  unsigned in_vain_ = 0;   // waits in vain, one after the other
  unsigned left_out_ = 0;  // waits that are still to be left out
};

}  // namespace framefs::fuse
