#pragma once

#include <utility>

#include "fs/core/guarded.h"

namespace framefs::fs {

// Serialises the stores and commits of one frame.  It protects no value, only the order of that
// work.  Any thread may release it.
// Threads: any number.
class SessionLock {
 public:
  class Hold {
   public:
    Hold(Hold&& other) noexcept : lock_(std::exchange(other.lock_, nullptr)) {}
    Hold& operator=(Hold&&) = delete;
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold() { release(); }
    explicit operator bool() const noexcept { return lock_ != nullptr; }
    void release() noexcept {
      auto* const lock = std::exchange(lock_, nullptr);
      if (lock != nullptr) lock->state_.with_and_wake([](State& now) { now.is_held = false; });
    }

   private:
    friend class SessionLock;
    explicit Hold(SessionLock* lock) noexcept : lock_(lock) {}
    SessionLock* lock_;
  };

  [[nodiscard]] Hold take() {
    state_.with([](State& now) { ++now.waiting; });
    state_.wait([](const State& now) { return !now.is_held; },
                [](State& now) {
                  --now.waiting;
                  now.is_held = true;
                });
    return Hold(this);
  }
  // The result holds no lock if another thread has it.
  [[nodiscard]] Hold try_take() {
    const bool was_held = state_.with([](State& now) { return std::exchange(now.is_held, true); });
    return Hold(was_held ? nullptr : this);
  }
  // Whether a thread waits in take().  The holder can then end its work early.
  [[nodiscard]] bool is_wanted() const {
    return state_.with([](const State& now) { return now.waiting > 0; });
  }

 private:
  struct State {
    bool is_held = false;
    unsigned waiting = 0;
  };
  Guarded<State> state_;
};

}  // namespace framefs::fs
