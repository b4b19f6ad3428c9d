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
  // Notes a request for the block.  Returns whether it is the first one lately.
  bool note(const CacheKey& key) noexcept {
    const auto hash = DecodeCache::hash_of(key);
    const auto mark = static_cast<std::uint32_t>(hash >> 32);
    // Relaxed: no other data depends on it.
    return places_[hash % kPlaces].exchange(mark, std::memory_order_relaxed) != mark;
  }

 private:
  // 512 KiB.  Of two blocks that are requested in turn and share a place, each request is the
  // first.  Of the blocks of a file of 1 GiB, one in sixteen shares its place.
  static constexpr std::size_t kPlaces = 1u << 17;
  std::array<std::atomic<std::uint32_t>, kPlaces> places_{};
};

}  // namespace framefs::fs
