#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

namespace framefs::fs {

// A value that can be accessed only under its lock. The result of `body` is returned by value, so
// that no reference outlives the lock. Keep bodies short and free of I/O, decoding and other locks.
// Lock order: fs/ARCHITECTURE.md.
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

  // As wait(), but sleeps at most until `end`.
  template <class Time, class Ready, class F>
  auto wait_until(const Time& end, Ready&& ready, F&& body) {
    std::unique_lock hold(mutex_);
    changed_.wait_until(hold, end, [&] { return ready(std::as_const(value_)); });
    return std::forward<F>(body)(value_);
  }

  // As wait(), but also calls `over()` at intervals, without the lock.  If `over()` returns true,
  // the wait ends and `body` runs although the value is not ready.
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

  // Makes all threads in wait() check their condition again. For use after with(), if only some
  // changes of the value matter to them.
  void wake() { changed_.notify_all(); }

  // Runs `body`, then wakes all threads in wait().
  template <class F>
  auto with_and_wake(F&& body) {
    struct Wake {
      std::condition_variable& changed;
      ~Wake() { changed.notify_all(); }
    };
    const Wake wake{changed_};  // its destructor runs after the lock is released
    const std::scoped_lock hold(mutex_);
    return std::forward<F>(body)(value_);
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  T value_{};
};

// A value that many readers may read at the same time and one writer may change. Unlike with
// Guarded, a reader may do I/O and decode under the lock. The value does not change meanwhile, as
// under the lock that kernel filesystems have for each inode. Lock order: fs/ARCHITECTURE.md.
//
// The lock is fair: a reader that comes after a waiting writer waits for that writer, so that
// overlapping readers cannot hold off a writer for ever, as they can with std::shared_mutex, which
// prefers readers on glibc. Hence a thread that reads must not read the same value again, nor wait
// for another thread that is about to read it.
template <class T>
class Shared {
 public:
  template <class... Args>
  explicit Shared(std::in_place_t, Args&&... args) : value_(std::forward<Args>(args)...) {}

  template <class F>
  auto read(F&& body) const {
    std::unique_lock turn(turn_);
    const std::shared_lock hold(mutex_);
    turn.unlock();
    return std::forward<F>(body)(value_);
  }
  template <class F>
  auto write(F&& body) {
    std::unique_lock turn(turn_);
    const std::scoped_lock hold(mutex_);
    turn.unlock();
    return std::forward<F>(body)(value_);
  }
  // As write(), if no other thread reads or writes now.  Otherwise returns nothing, without having
  // held off any thread.
  template <class F>
  auto try_write(F&& body) -> std::optional<decltype(std::forward<F>(body)(std::declval<T&>()))> {
    const std::unique_lock hold(mutex_, std::try_to_lock);
    if (!hold) return std::nullopt;
    return std::forward<F>(body)(value_);
  }

 private:
  // Held by the thread whose turn it is, until it has `mutex_`; those that come later wait for it.
  mutable std::mutex turn_;
  mutable std::shared_mutex mutex_;
  T value_;
};

}  // namespace framefs::fs
