#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "codec/core/result.h"
#include "fs/core/threads/guarded.h"
#include "fs/write/ownership/frame_ownership.h"
#include "fs/write/ownership/session_lock.h"

namespace framefs::fs {

// The ownership of a frame, shared by all threads of this process that change the frame.  The first
// change takes the ownership from other programs, and later changes join it.
//
// Invariants: no other program that asks owns the frame while a Change lives, and until all written
// bytes are committed or lost.  One thread at a time waits for another program, and every other
// change waits for that thread.
//
// Threads: any number.  Lifetime: the frame outlives it.
class SharedOwnership {
 public:
  // The frame that is owned.  Threads: any number.
  class Frame {
   public:
    // Errors: EIO if the frame is lost.
    [[nodiscard]] virtual Status check_usable() const = 0;
    // Whether no other program has changed the frame.
    // Errors: EIO for such a change, and the frame is then lost; system.
    virtual Status check() = 0;
    // Called by the first change, once this process owns the frame.  Errors: those of storing.
    virtual Status begin_writing() = 0;
    // Another program has changed the frame, so the frame is lost.
    virtual void give_up() noexcept = 0;
    // Whether written bytes are left that a commit can still store.
    [[nodiscard]] virtual bool needs_owner() const = 0;
    // Whether the frame is lost without loss of written bytes, so that another session can take the
    // place of this one.
    [[nodiscard]] virtual bool is_superseded() const = 0;

   protected:
    ~Frame() = default;
  };
  // `ownership` is not taken yet.
  SharedOwnership(Frame& frame, std::unique_ptr<FrameOwnership> ownership)
      : frame_(frame), ownership_(std::move(ownership)) {}

  // This process owns the frame as long as a Change lives.
  class Change {
   public:
    Change(Change&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
    Change& operator=(Change&&) = delete;
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    ~Change() {
      if (owner_ != nullptr) owner_->end_change();
    }

   private:
    friend class SharedOwnership;
    explicit Change(SharedOwnership& owner) : owner_(&owner) {}
    SharedOwnership* owner_;
  };
  // Waits for other programs no longer than `patience`.  A thread that must not wait gets
  // would_wait() instead.
  // If the frame is superseded, `successor` gets the ownership: the session that is opened next
  // then cannot be overtaken again.
  // Errors: those of FrameOwnership::take(); EIO if the frame is lost; EINTR.  No change has begun
  // then.
  Result<Change> begin_change(std::chrono::milliseconds patience,
                              std::unique_ptr<FrameOwnership>* successor);
  // Whether this process owns the frame now.
  [[nodiscard]] bool is_owned() const;
  // Whether `counter`, read from a lock file of the frame by a thread that has locked it, means
  // that another program has changed the frame.
  [[nodiscard]] bool is_overtaken(const LockCounter& counter) const;
  // Takes a lock file that another program has created since this process owns the frame.  Does
  // nothing if this process does not own it.
  // Errors: as begin_change().  Threads: one at a time, beside all other functions.
  Status take_new_lock_file();
  // To be called when a commit has ended and when the frame is lost.  Releases the ownership,
  // unless a Change lives or the frame needs its owner.
  void release_unneeded() noexcept;

 private:
  [[nodiscard]] std::optional<Change> join_change();
  Status take(std::chrono::milliseconds patience);
  std::unique_ptr<FrameOwnership> give_away();
  void end_change() noexcept;

  struct State {
    bool is_owned = false;
    unsigned changers = 0;
    std::uint64_t changes = 0;  // changes begun so far
  };
  // Constant after construction.
  Frame& frame_;
  // Self-synchronised.
  SessionLock taking_;  // held while waiting for another process
  Guarded<State> state_;
  // Guarded by `taking_` while the frame is not owned, by `state_` while it is.
  std::unique_ptr<FrameOwnership> ownership_;  // null after a frame that is lost gave it away
};

}  // namespace framefs::fs
