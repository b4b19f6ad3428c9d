#pragma once

#include <chrono>
#include <cstddef>

namespace framefs::net {

// The limit on concurrent requests.  The limit grows with each successful answer and is halved when
// the server asks for fewer requests (additive increase, multiplicative decrease).
// Threads: one at a time.
class ConcurrencyLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::size_t kFirst = 32;
  static constexpr std::size_t kMax = 128;

  [[nodiscard]] std::size_t limit() const { return static_cast<std::size_t>(limit_); }
  // The limit for prefetching.  It leaves a quarter of the limit to waiting readers.
  [[nodiscard]] std::size_t prefetch_limit() const;

  void succeeded();
  // The server slowed down a request that was sent at `sent`.  Requests that were sent before the
  // limit was last lowered have no effect.
  void slowed_down(Time sent, Time now);

 private:
  double limit_ = kFirst;
  bool is_probing_ = true;  // until the server complains for the first time
  Time lowered_{};
};

}  // namespace framefs::net
