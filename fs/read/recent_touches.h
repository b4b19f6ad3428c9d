#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fs/read/decode_cache.h"

namespace framefs::fs {

// Remembers how often and when blocks were requested lately, in a table of fixed size, and how
// often readers come back to a block.  Two blocks with the same place in the table overwrite each
// other: the answers are only hints which blocks are worth keeping.
// Threads: any number.
class RecentTouches {
 public:
  struct Touch {
    std::uint32_t count = 1;  // of the requests for the block lately, this one included
    std::uint32_t age = 0;    // the requests for all blocks since the last one for this block
  };
  static constexpr std::uint32_t kMost = 7;  // `count` is at most this

  // Notes a request for the block.
  Touch note(const CacheKey& key) noexcept {
    const auto hash = DecodeCache::hash_of(key);
    auto& place = places_[hash % kPlaces];
    // Relaxed: no other data depends on it.  Touches that threads note at once may count once.
    const auto now = clock_.load(std::memory_order_relaxed) + 1;
    clock_.store(now, std::memory_order_relaxed);
    const Place before(place.load(std::memory_order_relaxed));
    Place after(hash, 1, now);
    const bool is_first = before.count == 0 || before.mark != after.mark;
    if (!is_first) after.count = std::min(before.count + 1, kMost);
    place.store(after.bits(), std::memory_order_relaxed);
    const auto share = repeated_share_.load(std::memory_order_relaxed);
    const auto more = is_first ? 0 : kWhole / kTouches;
    repeated_share_.store(share - share / kTouches + more, std::memory_order_relaxed);
    return {.count = after.count, .age = (now - before.time) & kTimes};
  }

  // The next request for the block will not count as one of the first.
  void note_most(const CacheKey& key) noexcept {
    const auto hash = DecodeCache::hash_of(key);
    const auto now = clock_.load(std::memory_order_relaxed);
    places_[hash % kPlaces].store(Place(hash, kMost, now).bits(), std::memory_order_relaxed);
  }

  // Whether at least one in eight of the latest requests was for a block that had been requested
  // before.
  [[nodiscard]] bool are_often_repeated() const noexcept {
    return repeated_share_.load(std::memory_order_relaxed) >= kWhole / 8;
  }

 private:
  // A block and its requests, in 32 bits: a part of the block's hash, the number of its requests,
  // and the time of the last one, which is the number of requests before it.
  static constexpr std::uint32_t kMarkBits = 12;
  static constexpr std::uint32_t kTimeBits = 17;
  static constexpr std::uint32_t kTimes = (1u << kTimeBits) - 1;
  struct Place {
    std::uint32_t mark;
    std::uint32_t count;
    std::uint32_t time;
    Place(std::uint64_t hash, std::uint32_t requests, std::uint32_t now)
        : mark(static_cast<std::uint32_t>(hash >> (64 - kMarkBits))),
          count(requests),
          time(now & kTimes) {}
    explicit Place(std::uint32_t bits)
        : mark(bits >> (32 - kMarkBits)), count(bits >> kTimeBits & kMost), time(bits & kTimes) {}
    [[nodiscard]] std::uint32_t bits() const noexcept {
      return mark << (32 - kMarkBits) | count << kTimeBits | time;
    }
  };
  // The share of repeated requests, as a mean in which each later request makes those before count
  // less: about the last kTouches of them.
  static constexpr std::uint32_t kWhole = 1u << 20;
  static constexpr std::uint32_t kTouches = 256;
  // 512 KiB.  Of two blocks that are requested in turn and share a place, each request is the
  // first.  Of the blocks of a file of 1 GiB, one in sixteen shares its place.
  static constexpr std::size_t kPlaces = 1u << 17;
  std::array<std::atomic<std::uint32_t>, kPlaces> places_{};
  std::atomic<std::uint32_t> clock_{0};
  std::atomic<std::uint32_t> repeated_share_{0};  // of kWhole
};

}  // namespace framefs::fs
