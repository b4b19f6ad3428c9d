#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fs/read/decode_cache.h"

namespace framefs::fs {

// Remembers which blocks were requested lately, in a table of fixed size, and how often readers
// come back to a block.  Two blocks with the same place in the table overwrite each other.  Both
// are only hints which blocks are worth keeping.
// Threads: any number.
class FirstTouches {
 public:
  // Notes a request for the block.  Returns whether it is the first one lately.
  bool note(const CacheKey& key) noexcept {
    const auto hash = DecodeCache::hash_of(key);
    const auto mark = static_cast<std::uint32_t>(hash >> 32);
    // Relaxed: no other data depends on it.
    const bool is_first = places_[hash % kPlaces].exchange(mark, std::memory_order_relaxed) != mark;
    // A touch that two threads note at once may count once.
    const auto share = repeated_share_.load(std::memory_order_relaxed);
    const auto more = is_first ? 0 : kWhole / kTouches;
    repeated_share_.store(share - share / kTouches + more, std::memory_order_relaxed);
    return is_first;
  }

  // Whether at least one in eight of the latest requests was for a block that had been requested
  // before.
  [[nodiscard]] bool are_often_repeated() const noexcept {
    return repeated_share_.load(std::memory_order_relaxed) >= kWhole / 8;
  }

 private:
  // The share of repeated requests, as a mean in which each later request makes those before count
  // less: about the last kTouches of them.
  static constexpr std::uint32_t kWhole = 1u << 20;
  static constexpr std::uint32_t kTouches = 256;
  // 512 KiB.  Of two blocks that are requested in turn and share a place, each request is the
  // first.  Of the blocks of a file of 1 GiB, one in sixteen shares its place.
  static constexpr std::size_t kPlaces = 1u << 17;
  std::array<std::atomic<std::uint32_t>, kPlaces> places_{};
  std::atomic<std::uint32_t> repeated_share_{0};  // of kWhole
};

}  // namespace framefs::fs
