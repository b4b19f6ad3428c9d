#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fs/read/decode_cache.h"

namespace framefs::fs {

// Counts the latest requests for blocks, in a table of fixed size.  Two blocks with the same place
// in the table overwrite each other.  The table is only a hint which blocks are worth keeping.
// Threads: any number.
class FirstTouches {
 public:
  static constexpr std::uint64_t kMaxCount = 8;

  // Notes a request for the block.  Returns how many there were lately, this one included: 1 to
  // `most`, which is at least 2 and at most kMaxCount.  After `most`, the next result is 2.
  std::uint64_t note(const CacheKey& key, std::uint64_t most = kMaxCount) noexcept {
    const auto hash = DecodeCache::hash_of(key);
    const auto mark = static_cast<std::uint32_t>(hash >> 32) & ~kCounts;
    auto& place = places_[hash % kPlaces];
    // Relaxed: no other data depends on it.  A request that another one overtakes is not counted.
    const auto before = place.load(std::memory_order_relaxed);
    const auto count = (before & ~kCounts) == mark ? (before & kCounts) + 1 : 1;
    place.store(mark | (count < most ? count : 1), std::memory_order_relaxed);
    return std::min<std::uint64_t>(count, most);
  }

 private:
  // The bits of a place that hold the count; the others tell blocks apart.
  static constexpr std::uint32_t kCounts = kMaxCount - 1;
  // 512 KiB.  Blocks that are requested in turn and share a place are never counted beyond 1.  Of
  // the blocks of a file of 1 GiB, one in sixteen shares its place.
  static constexpr std::size_t kPlaces = 1u << 17;
  std::array<std::atomic<std::uint32_t>, kPlaces> places_{};
};

}  // namespace framefs::fs
