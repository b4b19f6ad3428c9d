#pragma once

#include <chrono>
#include <cstddef>

namespace framefs::net {

// How many requests may be under way at once: more while all goes well, half as many when the server
// says that it is too much (additive increase, multiplicative decrease).
// Threads: one at a time.
class ConcurrencyLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::size_t kFirst = 16;
  static constexpr std::size_t kMax = 128;

  [[nodiscard]] std::size_t limit() const { return static_cast<std::size_t>(limit_); }
  // Prefetching leaves a quarter to readers who wait.
  [[nodiscard]] std::size_t prefetch_limit() const;

  void succeeded();
  // The server slowed down a request that was sent at `sent`.  Those that were sent before the limit
  // was lowered last say nothing new.
  void slowed_down(Time sent, Time now);

 private:
  double limit_ = kFirst;
  bool is_probing_ = true;  // until the server complains for the first time
  Time lowered_{};
};

}  // namespace framefs::net
