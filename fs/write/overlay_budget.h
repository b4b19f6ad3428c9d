#pragma once

#include <atomic>
#include <cstdint>

namespace framefs::fs {

// How much memory the written bytes of a whole mount take that are not stored yet, and may take.
// Threads: any number.
class OverlayBudget {
 public:
  explicit OverlayBudget(std::uint64_t limit_bytes) : limit_(limit_bytes) {}

  void add(std::uint64_t bytes) noexcept { used_.fetch_add(bytes, std::memory_order_relaxed); }
  void subtract(std::uint64_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  [[nodiscard]] bool is_full() const noexcept {
    return used_.load(std::memory_order_relaxed) >= limit_;
  }

 private:
  const std::uint64_t limit_;
  // A running sum; nobody infers anything else from its value.
  std::atomic<std::uint64_t> used_{0};
};

}  // namespace framefs::fs
