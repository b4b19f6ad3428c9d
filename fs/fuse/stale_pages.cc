#include "fs/fuse/stale_pages.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "fs/core/background_thread.h"

namespace framefs::fuse {
namespace {

// Longer than the kernel needs to drop pages that no request has locked.
constexpr std::chrono::seconds kPatience{1};

}  // namespace

void StalePages::start(Drop drop) {
  state_.with([](State& state) {
    state.is_running = true;
    state.is_thread_done = false;
  });
  thread_ = fs::background_thread(
      [this, drop = std::move(drop)](const std::stop_token&) { serve(drop); });
}

void StalePages::settle() {
  state_.with_and_wake([](State& state) { state.is_running = false; });
  state_.wait_until(
      std::chrono::steady_clock::now() + kPatience,
      [](const State& state) { return state.is_thread_done; }, [](const State&) {});
}

void StalePages::stop() {
  settle();
  if (thread_.joinable()) thread_.join();
}

void StalePages::note(fs::NodeId node, std::uint64_t offset) {
  state_.with_and_wake([&](State& state) {
    if (!state.is_running) return;
    const auto [at, is_new] = state.wrong.try_emplace(node, offset);
    if (!is_new) at->second = std::min(at->second, offset);
  });
}

void StalePages::serve(const Drop& drop) {
  while (true) {
    const auto work = state_.wait(
        [](const State& state) { return !state.is_running || !state.wrong.empty(); },
        [](State& state) { return std::pair(std::exchange(state.wrong, {}), state.is_running); });
    if (!work.second) break;
    for (const auto& [node, offset] : work.first) drop(node, offset);
  }
  state_.with_and_wake([](State& state) { state.is_thread_done = true; });
}

}  // namespace framefs::fuse
