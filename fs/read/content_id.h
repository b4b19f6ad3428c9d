#pragma once

#include <atomic>
#include <cstdint>

namespace framefs::fs {

// Names one state of the bytes of one file.  The cache finds its values by this id.  A file that
// changes gets a new id, under which no value is cached yet; the values of the old id are evicted
// with time.
struct ContentId {
  std::uint64_t value = 0;  // 0: no state

  [[nodiscard]] explicit operator bool() const noexcept { return value != 0; }
  bool operator==(const ContentId&) const = default;
};

// Allocates the ids of one mount, each id once.  Threads: any number.
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
