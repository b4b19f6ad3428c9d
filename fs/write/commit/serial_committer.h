#pragma once

#include <utility>

#include "fs/core/may_wait.h"
#include "fs/write/commit/frame_committer.h"
#include "fs/write/ownership/session_lock.h"

namespace framefs::fs {

// The commit lock of a frame, and the FrameCommitter that it guards.
//
// Invariant: the committer is reached only through an Access, and one Access at a time exists.
// Threads get theirs in the order in which they asked.
//
// No lock is held between the two steps of a commit.  A thread that wants to store, commit or drop
// chunks meanwhile does not wait for the other step: it first finishes the commit by a sync of this
// frame alone.
//
// Threads: any number.
class SerialCommitter {
 public:
  SerialCommitter(SessionState& state, const WriteParts& parts, ChunkEncoding encoding)
      : committer_(state, parts, std::move(encoding)) {}

  // The use of the committer by one thread.
  class Access {
   public:
    explicit operator bool() const noexcept { return static_cast<bool>(hold_); }
    FrameCommitter* operator->() const noexcept { return hold_ ? &committer_ : nullptr; }

   private:
    friend class SerialCommitter;
    Access(SessionLock::Hold hold, FrameCommitter& committer)
        : hold_(std::move(hold)), committer_(committer) {}
    SessionLock::Hold hold_;
    FrameCommitter& committer_;
  };
  // Waits for the commit lock, and finishes a commit that has begun.  An error of that commit is
  // not the caller's: a lost frame reports it, and otherwise the next commit includes the bytes
  // that this one could not publish.
  [[nodiscard]] Access take() {
    auto access = take_beside_begun();
    static_cast<void>(access->finish_begun());
    return access;
  }
  // The same for a thread that must not wait: if the thread would have to, the result is false.
  [[nodiscard]] Access take_promptly() {
    if (may_wait()) return take();
    Access access(lock_.try_take(), committer_);
    if (access && access->has_begun()) access.hold_.release();
    return access;
  }
  // As take(), but gives up when over() returns true; the result is then false.
  template <class Over>
  [[nodiscard]] Access take_unless(const Over& over) {
    Access access(lock_.take_unless(over), committer_);
    if (access) static_cast<void>(access->finish_begun());
    return access;
  }
  // As take(), but a commit that has begun goes on.  For work that neither stores nor drops chunks.
  [[nodiscard]] Access take_beside_begun() { return {lock_.take(), committer_}; }
  // Whether a thread waits for the committer.
  [[nodiscard]] bool is_wanted() const { return lock_.is_wanted(); }

 private:
  SessionLock lock_;
  FrameCommitter committer_;  // guarded by `lock_`
};

}  // namespace framefs::fs
