#include "fs/view/decode_ahead.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "codec/core/work_budget.h"
#include "fs/core/background_thread.h"
#include "fs/core/log.h"

namespace framefs::fs {
namespace {

// Readers copy faster than one thread decodes with most codecs, but not faster than eight threads.
constexpr std::size_t kMaxThreads = 8;
constexpr std::uint64_t kCacheShare = 4;

}  // namespace

DecodeAhead::DecodeAhead(unsigned threads, std::uint64_t cache_bytes)
    : most_threads_(std::min<std::size_t>(
          threads == 0 ? std::max(std::thread::hardware_concurrency(), 1u) : threads, kMaxThreads)),
      budget_(std::make_shared<AheadBudget>(cache_bytes / kCacheShare)) {}

DecodeAhead::~DecodeAhead() {
  auto threads = state_.with([](State& state) { return std::move(state.threads); });
  for (auto& thread : threads) thread.request_stop();
  // with_and_wake() takes the lock: no thread is then between its check and its sleep.
  state_.with_and_wake([](const State&) {});
}

std::shared_ptr<ReadPattern> DecodeAhead::new_pattern() const {
  return std::make_shared<ReadPattern>(budget_);
}

void DecodeAhead::follow(const std::shared_ptr<ReadPattern>& pattern,
                         const std::shared_ptr<const View>& view) {
  if (!pattern->wants_more()) return;
  const bool is_taken = state_.with([&](State& state) {
    // It is safe to skip this: the reader will call again.
    if (state.waiting.size() >= most_threads_) return false;
    if (state.threads.empty() && !start(state)) return false;
    state.waiting.push_back({pattern, view});
    return true;
  });
  if (is_taken) state_.wake();
}

// Returns whether there are threads; there may be fewer than wanted.
bool DecodeAhead::start(State& state) {
  state.threads.reserve(most_threads_);
  try {
    while (state.threads.size() < most_threads_) {
      state.threads.push_back(
          background_thread([this](const std::stop_token& stop) { serve(stop); }));
    }
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): some may be enough
    // The system allows no more threads.
  }
  return !state.threads.empty();
}

void DecodeAhead::serve(const std::stop_token& stop) {
  give_way();
  codec::WorkBudget budget(std::numeric_limits<std::uint64_t>::max(),
                           [&] { return !stop.stop_requested(); });
  const codec::WorkScope scope(&budget);
  while (true) {
    auto stream = state_.wait(
        [&](const State& state) { return !state.waiting.empty() || stop.stop_requested(); },
        [&](State& state) -> std::optional<Stream> {
          if (stop.stop_requested()) return std::nullopt;
          auto next = std::move(state.waiting.front());
          state.waiting.pop_front();
          return next;
        });
    if (!stream) return;
    try {
      HeldFailures failures;
      const auto range = stream->pattern->take_ahead(stream->view->decoded_bytes());
      const bool has_more = range && stream->view->decode_ahead(*range);
      // The reader that comes to the failed bytes reads them itself, and logs the failure if the
      // frame has not changed meanwhile.
      failures.forget();
      if (!has_more) continue;
      // Streams take turns.
      state_.with([&](State& state) { state.waiting.push_back(std::move(*stream)); });
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): nothing is lost
      // The stream ends. If memory is still short, the reader's next read reports the error.
    }
  }
}

}  // namespace framefs::fs
