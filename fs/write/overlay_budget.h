#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "fs/read/buffer_pool.h"

namespace framefs::fs {

// Counts and limits the memory of a whole mount for written bytes that are not stored yet.  Keeps a
// little memory for the next bytes; that memory is not part of the limit.
// Threads: any number.
class OverlayBudget {
 public:
  explicit OverlayBudget(std::uint64_t limit_bytes) : limit_(limit_bytes) {}

  // Returns `size` bytes of undefined content, which count until they are given back.
  std::unique_ptr<std::byte[]> take(std::size_t size) {
    used_.fetch_add(size, std::memory_order_relaxed);
    return kept_.take(size);
  }
  void give_back(std::unique_ptr<std::byte[]> bytes, std::size_t size) noexcept {
    used_.fetch_sub(size, std::memory_order_relaxed);
    kept_.give_back(std::move(bytes), size);
  }
  [[nodiscard]] bool is_full() const noexcept {
    return used_.load(std::memory_order_relaxed) >= limit_;
  }

 private:
  // Memory for the chunks being stored, two or three for each CPU that encodes them.
  static constexpr std::uint64_t kKeptBytes = 16u << 20;

  const std::uint64_t limit_;
  BufferPool kept_{kKeptBytes};
  // A running sum; no other data depends on its value.
  std::atomic<std::uint64_t> used_{0};
};

}  // namespace framefs::fs
