#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "fs/core/threads/guarded.h"
#include "fs/source/blosc2_lock.h"
#include "fs/write/ownership/frame_lock.h"

namespace framefs::fs {

// Ownership of a frame for changes, among all programs that ask: framefs processes by FrameLock,
// and programs that use the Blosc2 library by Blosc2Lock.
// Threads: one at a time, except for tells_change().
class FrameOwnership {
 public:
  // The frame's file, or the directory of a sparse frame, open as FrameLock demands.  `keeper`
  // keeps `fd` open.
  struct Frame {
    int fd = -1;
    FrameLock::Kind kind;
    std::shared_ptr<const void> keeper;
    bool is_new = false;  // no program has counted a change of the frame in a lock file yet
  };
  // Reads the counter of the lock file.  Create this object before the frame is read: take() then
  // notices changes since.
  FrameOwnership(Frame frame, Blosc2Lock lock_file)
      : frame_(std::move(frame)),
        frame_lock_(frame_.fd, frame_.kind),
        lock_file_(std::move(lock_file)) {
    if (!frame_.is_new) note(lock_file_.peek());
  }

  // Waits no longer than `patience`.
  // Errors: EBUSY if another program still owns the frame; EINTR; EACCES and others of Blosc2Lock.
  Status take(std::chrono::milliseconds patience);
  // Takes a lock file that was created after take().  Only for an owner.  Errors: as take().
  Status take_new_lock_file(std::chrono::milliseconds patience);
  void release() noexcept;
  [[nodiscard]] bool is_held() const noexcept { return frame_lock_.is_held(); }

  // Whether the lock file says that another program has changed the frame since this object was
  // created, or since the last release().
  [[nodiscard]] bool is_overtaken() const noexcept { return is_overtaken_; }
  // To be called before an owner reads the frame again.
  void forget_change() noexcept { is_overtaken_ = false; }
  // Whether `counter` says the same.  Threads: any.
  [[nodiscard]] bool tells_change(const LockCounter& counter) const;

 private:
  Status own_lock_file(std::chrono::milliseconds patience);
  void note(LockCounter counter);

  const Frame frame_;
  bool was_taken_ = false;
  FrameLock frame_lock_;
  Blosc2Lock lock_file_;
  // The lock file that was found last, with the counter that it has as long as no other program
  // changes the frame.  Empty for a new frame, of which no lock file has counted a change.
  Guarded<std::optional<LockCounter>> known_;
  bool is_overtaken_ = false;
};

}  // namespace framefs::fs
