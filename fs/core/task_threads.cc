#include "fs/core/task_threads.h"

#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>

#include "fs/core/background_thread.h"

namespace framefs::fs {

void TaskThreads::start_thread(State& now) {
  try {
    now.threads.push_back(background_thread([this](const std::stop_token&) { run(); }));
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): nothing is lost
    // The existing threads run all tasks.
  }
}

bool TaskThreads::add(Task task) {
  const bool is_taken = state_.with([&](State& now) {
    if (now.is_ending) return false;
    if (now.tasks.size() >= now.idle && now.threads.size() < limit_) start_thread(now);
    if (now.threads.empty()) return false;
    now.tasks.push_back(std::move(task));
    return true;
  });
  if (is_taken) state_.wake();
  return is_taken;
}

void TaskThreads::run() {
  while (true) {
    state_.with([](State& now) { ++now.idle; });
    const auto task =
        state_.wait([](const State& now) { return now.is_ending || !now.tasks.empty(); },
                    [](State& now) -> std::optional<Task> {
                      --now.idle;
                      if (now.is_ending) return std::nullopt;
                      auto first = std::move(now.tasks.front());
                      now.tasks.pop_front();
                      return first;
                    });
    if (!task) return;
    (*task)();
  }
}

void TaskThreads::stop() {
  auto threads = state_.with_and_wake([](State& now) {
    now.is_ending = true;
    return std::move(now.threads);
  });
  threads.clear();  // joins
}

}  // namespace framefs::fs
