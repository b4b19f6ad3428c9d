#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>

#include "fs/core/threads/guarded.h"

namespace framefs::fs {

// Serialises long work that does I/O, such as the stores and commits of one frame.  It protects no
// value, only the order of that work.  Threads get it in the order in which they asked.  It is not
// a mutex, because one thread may hold the locks of hundreds of files, and any thread may release
// it.
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
    const auto self = enqueue();
    state_.wait([&](const State& now) { return now.is_next(self); },
                [](State& now) { now.hold_next(); });
    return Hold(this);
  }
  // The same, but gives up when over() returns true.  The result then holds no lock.
  template <class Over>
  [[nodiscard]] Hold take_unless(const Over& over) {
    const auto self = enqueue();
    const bool is_taken = state_.wait_unless(
        over, [&](const State& now) { return now.is_next(self); },
        [&](State& now) {
          if (now.is_next(self)) {
            now.hold_next();
            return true;
          }
          std::erase(now.waiting, self);
          return false;
        });
    return Hold(is_taken ? this : nullptr);
  }
  // The result holds no lock if another thread has it or waits for it.
  [[nodiscard]] Hold try_take() {
    const bool is_taken = state_.with([](State& now) {
      if (now.is_held || !now.waiting.empty()) return false;
      return now.is_held = true;
    });
    return Hold(is_taken ? this : nullptr);
  }
  // Whether a thread waits for the lock.  The holder can then end its work early.
  [[nodiscard]] bool is_wanted() const {
    return state_.with([](const State& now) { return !now.waiting.empty(); });
  }

 private:
  struct State {
    bool is_held = false;
    std::deque<std::uint64_t> waiting;  // a number for each thread, in their order
    std::uint64_t next_number = 0;

    [[nodiscard]] bool is_next(std::uint64_t number) const {
      return !is_held && waiting.front() == number;
    }
    void hold_next() {
      waiting.pop_front();
      is_held = true;
    }
  };
  [[nodiscard]] std::uint64_t enqueue() {
    return state_.with([](State& now) { return now.waiting.emplace_back(now.next_number++); });
  }

  Guarded<State> state_;
};

}  // namespace framefs::fs
