#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fs/read/decode_cache.h"

namespace framefs::fs {

// Remembers which blocks were requested lately, in a table of fixed size.  Two blocks with the same
// place in the table overwrite each other.  The table is only a hint which blocks are worth
// keeping.
// Threads: any number.
class FirstTouches {
 public:
  // Notes a request for the block.  Returns whether it is the first one in a while.
  bool note(const CacheKey& key) noexcept {
    const std::uint64_t mark = DecodeCache::hash_of(key) | 1;  // 0: empty place
    // Relaxed: no other data depends on it.
    return places_[mark / 2 % kPlaces].exchange(mark, std::memory_order_relaxed) != mark;
  }

 private:
  // 128 KiB: enough places for several times the blocks that a cache of usual size holds.
  static constexpr std::size_t kPlaces = 1u << 14;
  std::array<std::atomic<std::uint64_t>, kPlaces> places_{};
};

}  // namespace framefs::fs
