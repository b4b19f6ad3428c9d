#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fs/read/decode_cache.h"

namespace framefs::fs {

// Remembers which blocks were asked for lately, in a table of fixed size.  Two that share a place in it
// make each other be forgotten: it is a hint to what is worth keeping, and no more.
// Threads: any number.
class FirstTouches {
 public:
  // Notes that the block is asked for.  Whether this is the first time in a while.
  bool note(const CacheKey& key) noexcept {
    const std::uint64_t mark = DecodeCache::hash_of(key) | 1;  // 0: nobody yet
    // Relaxed: nothing else is inferred from it.
    return places_[mark / 2 % kPlaces].exchange(mark, std::memory_order_relaxed) != mark;
  }

 private:
  // 128 KiB: enough for the blocks that a cache of usual size holds, several times.
  static constexpr std::size_t kPlaces = 1u << 14;
  std::array<std::atomic<std::uint64_t>, kPlaces> places_{};
};

}  // namespace framefs::fs
