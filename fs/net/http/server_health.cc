#include "fs/net/http/server_health.h"

#include <algorithm>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/core.h>

namespace framefs::net {
namespace {

std::int64_t whole_seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

// The time of day at which `age` began.
std::string clock_text(std::chrono::steady_clock::duration age) {
  const auto since = std::chrono::system_clock::now() -
                     std::chrono::duration_cast<std::chrono::system_clock::duration>(age);
  return fmt::format("{:%H:%M:%S} UTC", fmt::gmtime(std::chrono::system_clock::to_time_t(since)));
}

}  // namespace

void ServerHealth::worked(Time now) {
  const auto ended = state_.with([&](State& state) {
    state.last_worked = now;
    State before{.first_failure = std::exchange(state.first_failure, std::nullopt),
                 .failures = std::exchange(state.failures, 0),
                 .last_error = {},
                 .is_reported = std::exchange(state.is_reported, false)};
    return before;
  });
  if (!ended.is_reported) return;
  log_.info(fmt::format("{}: the server is back after {} s; {} requests failed", name_,
                        whole_seconds(now - *ended.first_failure), ended.failures));
}

void ServerHealth::failed(Time sent, Time now, const std::string& reason) {
  const auto since = state_.with([&](State& state) -> std::optional<Time> {
    state.last_error = reason;
    if (!state.first_failure)
      state.first_failure = std::max(sent, state.last_worked.value_or(sent));
    ++state.failures;
    // Before the first answer, a mount waits for it and gets the error.
    const bool is_outage = state.last_worked && now - *state.first_failure >= kMinOutage;
    if (!is_outage || std::exchange(state.is_reported, true)) return std::nullopt;
    return state.first_failure;
  });
  if (!since) return;
  log_.warn(
      fmt::format("{}: the server is gone since {}: {}", name_, clock_text(now - *since), reason));
}

void ServerHealth::gave_up(const std::string& reason) {
  state_.with([&](State& state) { state.last_error = reason; });
  log_.warn(fmt::format("{}: {}", name_, reason));
}

auto ServerHealth::state() const -> State {
  return state_.with([](const State& state) { return state; });
}

}  // namespace framefs::net
