#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace framefs::net {

// The latency and rate of recent answers, and an estimate for the next one.
// Threads: one at a time.
class LatencyModel {
 public:
  using Duration = std::chrono::nanoseconds;
  using Time = std::chrono::steady_clock::time_point;

  // An answer of `bytes` was complete at `now`.  Its first byte took `first_byte`; the whole answer
  // took `total`.
  void note(std::uint64_t bytes, Duration first_byte, Duration total, Time now);

  // The usual time until the first byte.
  [[nodiscard]] Duration round_trip() const { return percentile(50); }
  // A request for `bytes` that takes longer than this has probably stalled.
  [[nodiscard]] Duration stall_time(std::uint64_t bytes) const;
  // The longest gap that costs less to fetch than another round trip.
  [[nodiscard]] std::uint64_t cheap_gap_bytes() const;
  // The bandwidth of all connections together times the round trip.  This number of bytes must be
  // under way to use the whole bandwidth.
  [[nodiscard]] std::uint64_t pipe_bytes() const;
  // The same at the beginning of a transfer.  Soon after the mount, only a few small bodies have
  // come.  The bandwidth of all connections is not known then, and that of one of them counts.
  [[nodiscard]] std::uint64_t first_pipe_bytes() const;

  static constexpr std::uint64_t kMaxGapBytes = 256 << 10;

 private:
  [[nodiscard]] Duration percentile(unsigned percent) const;

  // Times until the first byte: four buckets for each doubling, from 64 us on.
  std::array<double, 80> buckets_{};
  double samples_ = 0;
  double connection_rate_ = 0;  // bytes per second; 0 while unknown
  double total_rate_ = 0;       // of all connections
  Time window_begin_{};
  std::uint64_t window_bytes_ = 0;
};

}  // namespace framefs::net
