#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>

namespace framefs::fs {

// A value that cannot be touched without its lock.  The body's result is returned by value, so that
// no reference outlives the lock; keep bodies short and free of I/O, decoding and other locks. Lock
// order: fs/DESIGN.md.
template <class T>
class Guarded {
 public:
  Guarded() = default;
  template <class... Args>
  explicit Guarded(std::in_place_t, Args&&... args) : value_(std::forward<Args>(args)...) {}

  template <class F>
  auto with(F&& body) {
    const std::scoped_lock hold(mutex_);
    return std::forward<F>(body)(value_);
  }
  template <class F>
  auto with(F&& body) const {
    const std::scoped_lock hold(mutex_);
    return std::forward<F>(body)(value_);
  }

  // Sleeps until `ready(value)` holds, then runs `body` under the same lock.
  template <class Ready, class F>
  auto wait(Ready&& ready, F&& body) {
    std::unique_lock hold(mutex_);
    changed_.wait(hold, [&] { return ready(std::as_const(value_)); });
    return std::forward<F>(body)(value_);
  }

  // Runs `body` and wakes all that wait().
  template <class F>
  auto with_and_wake(F&& body) {
    struct Wake {
      std::condition_variable& changed;
      ~Wake() { changed.notify_all(); }
    };
    const Wake wake{changed_};  // after the lock below is gone
    const std::scoped_lock hold(mutex_);
    return std::forward<F>(body)(value_);
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  T value_{};
};

}  // namespace framefs::fs
