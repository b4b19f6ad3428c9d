#include "fs/core/threads/task_threads.h"

#include <algorithm>
#include <stop_token>
#include <system_error>
#include <tuple>
#include <utility>

#include "fs/core/threads/background_thread.h"

namespace framefs::fs {

void TaskThreads::start_thread(State& now) {
  now.ended.clear();  // joins
  const auto self = now.threads.emplace(now.threads.end());
  try {
    *self = background_thread([this, self](const std::stop_token&) { run(self); });
  } catch (const std::system_error&) {
    // The existing threads run all tasks.
    now.threads.erase(self);
  }
}

bool TaskThreads::add(Task task, Clock::time_point time) {
  const bool is_taken = state_.with([&](State& now) {
    if (now.is_ending) return false;
    if (now.tasks.size() >= now.idle && now.threads.size() < limit_) start_thread(now);
    if (now.threads.empty()) return false;
    now.tasks.emplace(time, std::move(task));
    return true;
  });
  if (is_taken) state_.wake();
  return is_taken;
}

void TaskThreads::run(Place self) {
  if (priority_ == Priority::low) give_way();
  while (const auto task = next(self)) task();
}

// Waits for a task.  Returns none if the thread is to end.
TaskThreads::Task TaskThreads::next(Place self) {
  const auto idle_end = Clock::now() + idle_;
  auto until = idle_end;
  Task task;
  const auto take = [&](State& now) {
    const auto time = Clock::now();
    const auto first = now.tasks.begin();
    const bool has_task = first != now.tasks.end();
    if (!now.is_ending && has_task && first->first <= time) {
      task = std::move(first->second);
      now.tasks.erase(first);
    } else if (!now.is_ending && time >= idle_end && (!has_task || now.idle > 1)) {
      now.ended.splice(now.ended.end(), now.threads, self);
    } else if (!now.is_ending) {
      until = !has_task          ? idle_end
              : time >= idle_end ? first->first
                                 : std::min(idle_end, first->first);
      return false;
    }
    --now.idle;
    return true;
  };
  const auto has_news = [&](const State& now) {
    return now.is_ending || (!now.tasks.empty() && now.tasks.begin()->first < until);
  };
  state_.with([](State& now) { ++now.idle; });
  while (!state_.wait_until(until, has_news, take)) {
  }
  return task;
}

void TaskThreads::stop() {
  // Threads are joined, and tasks destroyed, without the lock.
  auto last = state_.with_and_wake([](State& now) {
    now.is_ending = true;
    return std::tuple(std::exchange(now.tasks, {}), std::exchange(now.threads, {}),
                      std::exchange(now.ended, {}));
  });
  std::get<1>(last).clear();
}

}  // namespace framefs::fs
