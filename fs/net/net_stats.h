#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace framefs::net {

enum class RequestKind : std::uint8_t { get, head, list };
inline constexpr std::size_t kRequestKinds = 3;

// The counters of a mount, for people to read.  Each counter is correct by itself; the counters are
// not consistent with each other (relaxed order).
// Threads: any number.
class NetStats {
 public:
  struct Counts {
    // Indexed by RequestKind, then by the first digit of the status.  Digit 0 counts requests
    // without an answer.
    std::array<std::array<std::uint64_t, 6>, kRequestKinds> answers{};
    std::uint64_t bytes_fetched = 0;
    std::uint64_t bytes_served = 0;  // to readers, from server, memory or disk
    std::uint64_t retries = 0;
    std::uint64_t hedges = 0;
    std::uint64_t memory_hits = 0;
    std::uint64_t disk_hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t prefetched_bytes = 0;
    // Answers by their time: bucket i counts answers below 2^i ms.
    std::array<std::uint64_t, 18> latencies{};
    std::uint64_t latency_sum_us = 0;
    std::uint64_t unused_bytes = 0;       // fetched ahead, and not read so far
    std::uint64_t repeated_listings = 0;  // of directories that were listed before
    std::uint64_t hidden_entries = 0;     // of listings; each directory counts once
    // The state of the queue now; RequestQueue::add_to() sets it.
    std::uint64_t in_flight = 0;
    std::uint64_t waiting = 0;           // calls that wait for a slot, or to be sent again
    std::uint64_t limit = 0;             // of concurrent requests
    std::chrono::nanoseconds oldest{0};  // of those in flight
    std::optional<std::chrono::nanoseconds> since_answer = std::nullopt;  // that was useful
    std::string last_error = {};
  };

  void answered(RequestKind kind, int status, std::uint64_t bytes, std::chrono::nanoseconds time);
  void add_served(std::uint64_t bytes) { add(bytes_served_, bytes); }
  void add_retry() { add(retries_, 1); }
  void add_hedge() { add(hedges_, 1); }
  void add_memory_hit() { add(memory_hits_, 1); }
  void add_disk_hit() { add(disk_hits_, 1); }
  void add_miss() { add(misses_, 1); }
  void add_prefetched_read(std::uint64_t bytes) { add(prefetched_read_bytes_, bytes); }
  void add_repeated_listing() { add(repeated_listings_, 1); }
  void add_hidden_entries(std::uint64_t count) { add(hidden_entries_, count); }
  void add_prefetched(std::uint64_t bytes) { add(prefetched_bytes_, bytes); }

  [[nodiscard]] Counts counts() const;

 private:
  using Counter = std::atomic<std::uint64_t>;
  static void add(Counter& counter, std::uint64_t by) {
    counter.fetch_add(by, std::memory_order_relaxed);
  }

  std::array<std::array<Counter, 6>, kRequestKinds> answers_{};
  std::array<Counter, 18> latencies_{};
  Counter latency_sum_us_{0};
  Counter bytes_fetched_{0};
  Counter bytes_served_{0};
  Counter retries_{0};
  Counter hedges_{0};
  Counter memory_hits_{0};
  Counter disk_hits_{0};
  Counter misses_{0};
  Counter prefetched_bytes_{0};
  Counter prefetched_read_bytes_{0};
  Counter repeated_listings_{0};
  Counter hidden_entries_{0};
};

// The counters as one JSON object.  The key of a request is its kind and the class of its status,
// as in "get_2xx"; "get_none" counts requests without an answer.  "latency_ms" has one number for
// each bucket, "latency_sum_us" is the sum of all latencies, and "since_answer_ms" is null before
// the first answer.
std::string to_json(const NetStats::Counts& counts);

}  // namespace framefs::net
