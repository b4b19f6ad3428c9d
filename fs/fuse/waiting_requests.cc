#include "fs/fuse/waiting_requests.h"

#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>

#include "fs/core/background_thread.h"

namespace framefs::fuse {
namespace {

// The limit of requests that wait at a time; further ones wait for one of their threads.
constexpr std::size_t kMaxThreads = 32;
// The limit of bytes of all these requests.
constexpr std::size_t kMaxBytes = 32u << 20;

}  // namespace

void WaitingRequests::start_thread(State& now) {
  try {
    now.threads.push_back(fs::background_thread([this](const std::stop_token&) { run(); }));
  } catch (const std::system_error&) {
    // The existing threads serve all requests.
  }
}

bool WaitingRequests::add(const fuse_buf& request) {
  const bool is_taken = state_.with([&](State& now) {
    if (now.is_ending || request.size > kMaxBytes - now.bytes) return false;
    if (now.requests.size() >= now.idle && now.threads.size() < kMaxThreads) start_thread(now);
    if (now.threads.empty()) return false;
    const auto* const begin = static_cast<const char*>(request.mem);
    now.requests.emplace_back(begin, begin + request.size);
    now.bytes += request.size;
    return true;
  });
  if (is_taken) state_.wake();
  return is_taken;
}

void WaitingRequests::run() {
  while (true) {
    state_.with([](State& now) { ++now.idle; });
    auto bytes =
        state_.wait([](const State& now) { return now.is_ending || !now.requests.empty(); },
                    [](State& now) -> std::optional<std::vector<char>> {
                      --now.idle;
                      if (now.is_ending) return std::nullopt;
                      auto first = std::move(now.requests.front());
                      now.requests.pop_front();
                      return first;
                    });
    if (!bytes) return;
    fuse_buf request{};
    request.size = bytes->size();
    request.mem = bytes->data();
    serve_(request);
    state_.with([&](State& now) { now.bytes -= bytes->size(); });
  }
}

void WaitingRequests::stop() {
  auto threads = state_.with_and_wake([](State& now) {
    now.is_ending = true;
    return std::move(now.threads);
  });
  threads.clear();  // joins
}

}  // namespace framefs::fuse
