#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "fs/core/guarded.h"

namespace framefs::fs {

// Threads for tasks that may wait for long.  Tasks begin in the order in which they were added.
// Each runs on a thread of its own, as long as fewer than `limit` run.  Threads start when they are
// needed.
// Threads: any number.
class TaskThreads {
 public:
  using Task = std::function<void()>;
  explicit TaskThreads(std::size_t limit) noexcept : limit_(limit) {}
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;
  ~TaskThreads() { stop(); }

  // Returns false after stop(), or if the system allows no thread.
  bool add(Task task);
  // Returns when all threads have ended.  Drops the tasks that none of them has begun.
  void stop();

 private:
  struct State {
    std::deque<Task> tasks;
    std::vector<std::jthread> threads;
    std::size_t idle = 0;
    bool is_ending = false;
  };
  void start_thread(State& now);
  void run();

  const std::size_t limit_;
  Guarded<State> state_;
};

}  // namespace framefs::fs
