#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fs/tree/nodes/node.h"

namespace framefs::fuse {

// Remembers the directories of which callers look up many entries, in a table of fixed size. Two
// directories with the same place in the table overwrite each other. The table is only a hint which
// listings should contain attributes.
// Threads: any number.
class LookedUp {
 public:
  // So many lookups cost more than the attributes of a whole reply.
  static constexpr std::uint64_t kMany = 64;

  // Notes that an entry of the directory was looked up.
  void note(fs::NodeId directory) noexcept {
    auto& place = place_of(directory);
    // Relaxed: no other data depends on it. A lookup that another one overtakes is not counted.
    const auto before = place.load(std::memory_order_relaxed);
    const auto count = before / kCounts == directory ? before % kCounts : 0;
    place.store(directory * kCounts + std::min(count + 1, kMany), std::memory_order_relaxed);
  }

  // Whether many entries of the directory were looked up.
  [[nodiscard]] bool has_many(fs::NodeId directory) const noexcept {
    const auto known = place_of(directory).load(std::memory_order_relaxed);
    return known / kCounts == directory && known % kCounts == kMany;
  }

 private:
  // A place holds the number of a directory, times kCounts, and its lookups.
  static constexpr std::uint64_t kCounts = kMany + 1;
  static constexpr std::size_t kPlaces = 1024;
  [[nodiscard]] std::atomic<std::uint64_t>& place_of(fs::NodeId directory) noexcept {
    return places_[directory % kPlaces];
  }
  [[nodiscard]] const std::atomic<std::uint64_t>& place_of(fs::NodeId directory) const noexcept {
    return places_[directory % kPlaces];
  }

  std::array<std::atomic<std::uint64_t>, kPlaces> places_{};
};

}  // namespace framefs::fuse
