#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "fs/core/files/file.h"

namespace framefs::fs {

// Ownership of a frame among the framefs processes that write to it.  It is an
// open-file-description lock on one byte of the frame's file, far past any data, or flock(2) on the
// directory of a sparse frame.  A program that does not ask for these locks does not notice them.
// On a filesystem without locks, taking the lock succeeds and gives no protection.
// Threads: one at a time.  Lifetime: the descriptor outlives it; duplicates of it share the lock.
class FrameLock {
 public:
  enum class Kind : std::uint8_t { file, directory };
  // `fd` is a file that is open for writing, or a directory.
  FrameLock(int fd, Kind kind) noexcept : fd_(fd), is_flock_(kind == Kind::directory) {}
  FrameLock(const FrameLock&) = delete;
  FrameLock& operator=(const FrameLock&) = delete;
  ~FrameLock() { release(); }

  // Waits no longer than `patience`.  A process that takes the lock again and again lets other
  // processes have it in between.
  // Errors: system, EBUSY if another process still has the lock (after a wait, the error of
  // lock_error()), EINTR if the caller has given up.
  Status take(std::chrono::milliseconds patience);
  // Takes the lock if no process has it, without regard to processes that wait for it: for a frame
  // of which no other process can know yet.
  [[nodiscard]] bool try_take();
  void release() noexcept;
  [[nodiscard]] bool is_held() const noexcept { return is_held_; }

 private:
  enum class Attempt : std::uint8_t { taken, busy, unsupported };
  [[nodiscard]] Attempt try_lock(std::int64_t at, int type) const;
  Status wait_for(std::int64_t at, std::chrono::steady_clock::time_point end);

  const int fd_;
  const bool is_flock_;
  bool is_held_ = false;
};

}  // namespace framefs::fs
