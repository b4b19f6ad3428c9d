#include "fs/view/decode_ahead.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <thread>

#include "codec/core/work_budget.h"
#include "fs/core/diagnostics/log.h"

namespace framefs::fs {
namespace {

// Readers copy faster than one thread decodes with most codecs, but not faster than eight threads.
constexpr std::size_t kMaxThreads = 8;
constexpr std::uint64_t kCacheShare = 4;

}  // namespace

DecodeAhead::DecodeAhead(unsigned threads, std::uint64_t cache_bytes)
    : most_threads_(std::min<std::size_t>(
          threads == 0 ? std::max(std::thread::hardware_concurrency(), 1u) : threads, kMaxThreads)),
      budget_(std::make_shared<AheadBudget>(cache_bytes / kCacheShare)),
      threads_(most_threads_, TaskThreads::Priority::low) {}

DecodeAhead::~DecodeAhead() {
  is_ending_.store(true, std::memory_order_relaxed);
  threads_.stop();
}

std::shared_ptr<ReadPattern> DecodeAhead::new_pattern() const {
  return std::make_shared<ReadPattern>(budget_);
}

void DecodeAhead::follow(const std::shared_ptr<ReadPattern>& pattern,
                         const std::shared_ptr<const View>& view) {
  // It is safe to skip a call: the reader will call again.
  if (!pattern->wants_more() || threads_.waiting() >= most_threads_) return;
  threads_.add([this, stream = Stream{pattern, view}] { decode(stream); });
}

void DecodeAhead::decode(const Stream& stream) {
  codec::WorkBudget budget(std::numeric_limits<std::uint64_t>::max(),
                           [this] { return !is_ending_.load(std::memory_order_relaxed); });
  const codec::WorkScope scope(&budget);
  try {
    do {
      HeldFailures failures;
      const auto range = stream.pattern->take_ahead(stream.view->decoded_bytes());
      const bool has_more = range && stream.view->decode_ahead(*range);
      // The reader that comes to the failed bytes reads them itself, and logs the failure if the
      // frame has not changed meanwhile.
      failures.forget();
      if (!has_more) return;
    } while (threads_.waiting() == 0 && !is_ending_.load(std::memory_order_relaxed));
    // Streams take turns.
    threads_.add([this, stream] { decode(stream); });
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): nothing is lost
    // The stream ends. If memory is still short, the reader's next read reports the error.
  }
}

}  // namespace framefs::fs
