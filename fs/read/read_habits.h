#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fs/read/read_pattern.h"

namespace framefs::fs {

// Remembers how files were read last, in a table of fixed size, also of files that the kernel has
// forgotten meanwhile.  The last of two files with the same place in the table is remembered.
// Threads: any number.
class ReadHabits {
 public:
  // `hash` stands for the file.
  void note(std::uint64_t hash, ReadHabit habit) {
    if (habit == ReadHabit::unknown) return;
    places_[hash % kPlaces].store(mark_of(hash) | static_cast<std::uint64_t>(habit),
                                  std::memory_order_relaxed);
  }

  [[nodiscard]] ReadHabit of(std::uint64_t hash) const {
    const auto known = places_[hash % kPlaces].load(std::memory_order_relaxed);
    if ((known & ~kHabitBits) != mark_of(hash)) return ReadHabit::unknown;
    return static_cast<ReadHabit>(known & kHabitBits);
  }

 private:
  static constexpr std::size_t kPlaces = 4096;
  // The habit is in the low bits, which are the same for all hashes of a place.
  static constexpr std::uint64_t kHabitBits = 3;
  static_assert(kPlaces % (kHabitBits + 1) == 0);
  static std::uint64_t mark_of(std::uint64_t hash) { return hash & ~kHabitBits; }

  // No other data depends on their values.
  std::vector<std::atomic<std::uint64_t>> places_ =
      std::vector<std::atomic<std::uint64_t>>(kPlaces);
};

}  // namespace framefs::fs
