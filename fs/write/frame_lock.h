#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "fs/core/file.h"

namespace framefs::fs {

// Ownership of a frame among the processes that write to it with framefs: an open-file-description lock
// on one byte of the frame's file, far past any data, or flock(2) on the directory of a sparse frame.
// Neither is seen by programs that do not ask for it.  Where the filesystem has no locks, taking one
// succeeds and protects from nobody.
// Threads: one at a time.  Lifetime: the descriptor outlives it; duplicates of it share the lock.
class FrameLock {
 public:
  // `fd` is open for writing, or is a directory.
  explicit FrameLock(int fd) noexcept : fd_(fd) {}
  FrameLock(const FrameLock&) = delete;
  FrameLock& operator=(const FrameLock&) = delete;
  ~FrameLock() { release(); }

  // Waits for as long as `patience`; a process that takes the lock again and again lets others have it
  // in between.
  // Errors: system, EBUSY where another process still has it, EINTR where the caller has given up.
  Status take(std::chrono::milliseconds patience);
  void release() noexcept;
  [[nodiscard]] bool is_held() const noexcept { return is_held_; }

 private:
  enum class Attempt : std::uint8_t { taken, busy, unsupported };
  [[nodiscard]] Attempt try_lock(std::int64_t at, int type) const;
  Status wait_for(std::int64_t at, std::chrono::steady_clock::time_point end);
  [[nodiscard]] Status busy() const;

  const int fd_;
  bool is_held_ = false;
  bool is_flock_ = false;
};

}  // namespace framefs::fs
