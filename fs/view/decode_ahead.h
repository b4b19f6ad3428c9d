#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "fs/core/guarded.h"
#include "fs/read/read_pattern.h"
#include "fs/view/view.h"

namespace framefs::fs {

// Decodes what those who read from front to back will ask for next, while they still copy what they
// have, in threads of its own: they give way to all others, so that whoever waits for bytes is not kept
// waiting by those that nobody has asked for yet.  TBB's workers cannot do that, for they serve both.
// Threads: any number.
class DecodeAhead {
 public:
  // 0 threads: one for each CPU.  They start with the first stream.
  // `cache_bytes` is the budget of the cache that views decode into: a share of it may be ahead.
  DecodeAhead(unsigned threads, std::uint64_t cache_bytes);
  DecodeAhead(const DecodeAhead&) = delete;
  DecodeAhead& operator=(const DecodeAhead&) = delete;
  // Waits for what is being decoded.
  ~DecodeAhead();

  // Of a file that is being opened; it may outlive this object.
  [[nodiscard]] std::shared_ptr<ReadPattern> new_pattern() const;

  // To be called after each read of `view`.  The view is kept until there is nothing to decode for it.
  // Lifetime: what the view needs outlives this object.
  void follow(const std::shared_ptr<ReadPattern>& pattern, const std::shared_ptr<const View>& view);

 private:
  struct Stream {
    std::shared_ptr<ReadPattern> pattern;
    std::shared_ptr<const View> view;
  };
  struct State {
    std::deque<Stream> waiting;
    std::vector<std::jthread> threads;
  };
  bool start(State& state);
  void serve(const std::stop_token& stop);

  // Constant after construction.
  const std::size_t most_threads_;
  const std::shared_ptr<AheadBudget> budget_;
  // Guarded.
  Guarded<State> state_;
};

}  // namespace framefs::fs
