#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <thread>

#include "fs/core/threads/guarded.h"

namespace framefs::fs {

// Threads for tasks that take long, that wait, or that have their time.  A task runs on a thread of
// its own, as long as fewer than `limit` run.  Tasks of one time begin in the order in which they
// were added.  A thread starts when a task needs it, and ends when it had nothing to do for a
// while: a process without work has none of them.
// Threads: any number.
class TaskThreads {
 public:
  using Task = std::function<void()>;
  using Clock = std::chrono::steady_clock;
  enum class Priority : bool { normal, low };  // of threads; see give_way()

  static constexpr std::chrono::seconds kIdle{3};

  // A thread ends after `idle` without a task.
  explicit TaskThreads(std::size_t limit, Priority priority = Priority::normal,
                       Clock::duration idle = kIdle) noexcept
      : limit_(limit), priority_(priority), idle_(idle) {}
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;
  ~TaskThreads() { stop(); }

  // Runs the task, not before `time`.  As long as a task waits, there is a thread for it.
  // Returns false after stop(), or if there is no thread and the system allows none.
  bool add(Task task, Clock::time_point time = {});
  // The number of tasks that no thread has begun.
  [[nodiscard]] std::size_t waiting() const {
    return state_.with([](const State& now) { return now.tasks.size(); });
  }
  // Returns when all threads have ended.  Drops the tasks that none of them has begun.
  void stop();

 private:
  struct State {
    std::multimap<Clock::time_point, Task> tasks;
    std::list<std::jthread> threads;
    std::list<std::jthread> ended;  // to be joined
    std::size_t idle = 0;
    bool is_ending = false;
  };
  using Place = std::list<std::jthread>::iterator;
  void start_thread(State& now);
  void run(Place self);
  Task next(Place self);

  const std::size_t limit_;
  const Priority priority_;
  const Clock::duration idle_;
  Guarded<State> state_;
};

}  // namespace framefs::fs
