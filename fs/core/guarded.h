#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
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

  // The same, but sleeps no longer than until `end`.
  template <class Time, class Ready, class F>
  auto wait_until(const Time& end, Ready&& ready, F&& body) {
    std::unique_lock hold(mutex_);
    changed_.wait_until(hold, end, [&] { return ready(std::as_const(value_)); });
    return std::forward<F>(body)(value_);
  }

  // wait(), but asks now and then, without the lock, whether to give up; then `body` runs all the
  // same.
  template <class Over, class Ready, class F>
  auto wait_unless(Over&& over, Ready&& ready, F&& body) {
    constexpr std::chrono::milliseconds kBetweenQuestions{20};
    std::unique_lock hold(mutex_);
    const auto look = [&] { return ready(std::as_const(value_)); };
    while (!changed_.wait_for(hold, kBetweenQuestions, look)) {
      hold.unlock();
      const bool is_over = over();
      hold.lock();
      if (is_over) break;
    }
    return std::forward<F>(body)(value_);
  }

  // Has all that wait() look again: after a change by with(), where only some changes matter to
  // them.
  void wake() { changed_.notify_all(); }

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

// A value that many may look at together and one may change.  Unlike with Guarded, a reader may do
// I/O and decode under the lock: what it reads stays as it is meanwhile, as with the lock that
// kernel filesystems have for each inode.  Lock order: fs/DESIGN.md.
template <class T>
class Shared {
 public:
  template <class... Args>
  explicit Shared(std::in_place_t, Args&&... args) : value_(std::forward<Args>(args)...) {}

  template <class F>
  auto read(F&& body) const {
    const std::shared_lock hold(mutex_);
    return std::forward<F>(body)(value_);
  }
  template <class F>
  auto write(F&& body) {
    const std::scoped_lock hold(mutex_);
    return std::forward<F>(body)(value_);
  }

 private:
  mutable std::shared_mutex mutex_;
  T value_;
};

// Lets one thread at a time do what is long and does I/O, such as commits of one file; it protects
// no value, but the order of such work.
class CommitLock {
 public:
  using Hold = std::unique_lock<std::mutex>;
  [[nodiscard]] Hold take() { return Hold(mutex_); }
  // Holds nothing where somebody else has it.
  [[nodiscard]] Hold try_take() { return Hold(mutex_, std::try_to_lock); }

 private:
  std::mutex mutex_;
};

}  // namespace framefs::fs
