#include "fs/fuse/session/stale_pages.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "fs/core/threads/background_thread.h"
#include "fs/core/threads/interrupt.h"

namespace framefs::fuse {
namespace {

// Longer than the kernel usually needs to write pages back.
constexpr std::chrono::seconds kWriteBackPatience{15};

}  // namespace

void StalePages::start(Drop drop) {
  state_.with([](State& state) { state.is_running = true; });
  thread_ = fs::background_thread(
      [this, drop = std::move(drop)](const std::stop_token&) { serve(drop); });
}

void StalePages::stop() {
  state_.with_and_wake([](State& state) { state.is_running = false; });
  if (thread_.joinable()) thread_.join();
}

void StalePages::add(State& state, fs::NodeId node, Range range) {
  if (!state.is_running) return;
  auto& noted = state.wrong.try_emplace(node, range).first->second;
  noted = {.begin = std::min(noted.begin, range.begin), .end = std::max(noted.end, range.end)};
}

void StalePages::note(fs::NodeId node, Range range) {
  state_.with_and_wake([&](State& state) { add(state, node, range); });
}

void StalePages::write_back(fs::NodeId node, Range range) {
  const auto round = state_.with_and_wake([&](State& state) {
    add(state, node, range);
    return state.rounds_begun + 1;
  });
  const auto end = std::chrono::steady_clock::now() + kWriteBackPatience;
  state_.wait_unless(
      [&] { return fs::interrupted() || std::chrono::steady_clock::now() >= end; },
      [&](const State& state) { return !state.is_running || state.rounds_ended >= round; },
      [](const State&) {});
}

void StalePages::serve(const Drop& drop) {
  while (true) {
    const auto work =
        state_.wait([](const State& state) { return !state.is_running || !state.wrong.empty(); },
                    [](State& state) {
                      ++state.rounds_begun;
                      return std::pair(std::exchange(state.wrong, {}), state.is_running);
                    });
    if (!work.second) break;
    for (const auto& [node, range] : work.first) drop(node, range);
    state_.with_and_wake([](State& state) { state.rounds_ended = state.rounds_begun; });
  }
}

}  // namespace framefs::fuse
