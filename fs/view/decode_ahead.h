#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "fs/core/threads/task_threads.h"
#include "fs/read/read_pattern.h"
#include "fs/view/view.h"

namespace framefs::fs {

// Read-ahead for sequential readers: decodes the blocks that a reader will ask for next, while the
// reader still copies the previous ones. The work runs in low-priority threads, so that it delays
// no reader that waits for bytes. TBB's workers cannot do this, because they serve both kinds of
// work.
// Threads: any number.
class DecodeAhead {
 public:
  // The limit of threads is `threads`, or for 0 one for each CPU.
  // `cache_bytes` is the budget of the cache into which views decode; read-ahead may use a share of
  // it.
  DecodeAhead(unsigned threads, std::uint64_t cache_bytes);
  DecodeAhead(const DecodeAhead&) = delete;
  DecodeAhead& operator=(const DecodeAhead&) = delete;
  // Waits for the decoding in flight.
  ~DecodeAhead();

  // For statistics.
  [[nodiscard]] AheadBudget::Counts counts() const noexcept { return budget_->counts(); }

  // The read pattern of a file that is being opened; it may outlive this object.
  [[nodiscard]] std::shared_ptr<ReadPattern> new_pattern() const;

  // Must be called after each read of `view`. Keeps the view until there is nothing left to decode
  // for it.
  // Lifetime: the objects that the view refers to outlive this object.
  void follow(const std::shared_ptr<ReadPattern>& pattern, const std::shared_ptr<const View>& view);

 private:
  struct Stream {
    std::shared_ptr<ReadPattern> pattern;
    std::shared_ptr<const View> view;
  };
  void decode(const Stream& stream);

  const std::size_t most_threads_;
  const std::shared_ptr<AheadBudget> budget_;
  std::atomic<bool> is_ending_{false};  // relaxed: of a flag alone
  TaskThreads threads_;
};

}  // namespace framefs::fs
