#pragma once

#include <atomic>
#include <cstdint>

namespace framefs::fs {

// Names one state of the bytes of one file.  Values that the cache holds are found by it: a file that
// changes gets a new id, no value of the new id is cached yet, and those of the old id age out.
struct ContentId {
  std::uint64_t value = 0;  // 0: no state has been named

  [[nodiscard]] explicit operator bool() const noexcept { return value != 0; }
  bool operator==(const ContentId&) const = default;
};

// Hands out the ids of one mount; none twice.  Threads: any number.
class ContentIds {
 public:
  // Relaxed: an id carries no other data between threads.
  [[nodiscard]] ContentId next() noexcept {
    return {next_.fetch_add(1, std::memory_order_relaxed)};
  }

 private:
  std::atomic<std::uint64_t> next_{1};
};

}  // namespace framefs::fs
