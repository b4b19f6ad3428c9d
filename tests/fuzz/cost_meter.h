#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "tests/fuzz/array_checks.h"

namespace framefs::fuzz {

// The memory that the process has allocated.  The target counts it.
struct CountedMemory {
  std::atomic<std::int64_t> live{0};
  std::atomic<std::int64_t> peak{0};

  void add(std::int64_t bytes) noexcept {
    const auto now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    auto most = peak.load(std::memory_order_relaxed);
    while (most < now && !peak.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
    }
  }
};
inline constinit CountedMemory counted_memory;

// The cost that one request may have.
struct CostBound {
  std::uint64_t memory_bytes = 0;  // at the most, beyond the memory before the request
  double cpu_seconds = 0;          // of all threads
};

// Measures a request while it lives.  A request that costs more ends the process.
class CostMeter {
 public:
  explicit CostMeter(const CostBound& bound) : bound_(bound) {
    counted_memory.peak.store(memory_before_);
  }
  CostMeter(const CostMeter&) = delete;
  CostMeter& operator=(const CostMeter&) = delete;
  ~CostMeter() {
    demand(counted_memory.peak.load() - memory_before_ <=
           static_cast<std::int64_t>(bound_.memory_bytes));
    demand(cpu_seconds() - cpu_before_ <= bound_.cpu_seconds);
  }

 private:
  // The time of the whole process, because other threads decode for the request.
  static double cpu_seconds() {
    timespec now{};
    demand(::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }

  const CostBound bound_;
  const std::int64_t memory_before_ = counted_memory.live.load();
  const double cpu_before_ = cpu_seconds();
};

}  // namespace framefs::fuzz
