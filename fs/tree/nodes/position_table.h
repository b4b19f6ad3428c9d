#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace framefs::fs {

// A hash table of the positions that values have in another container.  A position takes 5 to 11
// bytes, where a table of the standard library takes 40 for a value of any size.
//
// The container is not known here: callers say what lies at a position.  `is_it(position)` tells
// whether it is the value that is looked for, and `hash_of(position)` is its hash.
// Threads: one at a time.
class PositionTable {
 public:
  using Position = std::uint32_t;

  template <class IsIt>
  [[nodiscard]] std::optional<Position> find(std::size_t hash, IsIt is_it) const {
    const auto slot = slot_of(hash, is_it);
    return slot ? std::optional(slots_[*slot] - 1) : std::nullopt;
  }

  // Makes room for another position, so that the next insert() cannot fail.
  template <class HashOf>
  void reserve_one(HashOf hash_of) {
    if (size_ + 1 <= slots_.size() / 4 * 3) return;
    std::vector<Position> fuller(slots_.empty() ? kMinSlots : 2 * slots_.size());
    std::swap(slots_, fuller);
    for (const auto taken : fuller) {
      if (taken != kFree) put(hash_of(taken - 1), taken);
    }
  }
  // There must be room, and the position must not be in the table.
  void insert(std::size_t hash, Position position) noexcept {
    put(hash, position + 1);
    ++size_;
  }

  // From now on, the table has `to` in the place of `from`, if it has that.
  void replace(std::size_t hash, Position from, Position to) noexcept {
    const auto slot = slot_of(hash, [from](Position position) { return position == from; });
    if (slot) slots_[*slot] = to + 1;
  }

  // The position must be in the table.
  template <class HashOf>
  void erase(Position position, HashOf hash_of) {
    auto hole = *slot_of(hash_of(position), [=](Position other) { return other == position; });
    // A value behind the hole moves there, unless it would come before the slot where its search
    // begins.
    for (auto at = next(hole); slots_[at] != kFree; at = next(at)) {
      const auto first = first_slot(hash_of(slots_[at] - 1));
      if (distance(first, at) < distance(hole, at)) continue;
      slots_[hole] = std::exchange(slots_[at], kFree);
      hole = at;
    }
    slots_[hole] = kFree;
    --size_;
  }

 private:
  static constexpr Position kFree = 0;  // other slots hold a position plus 1
  static constexpr std::size_t kMinSlots = 16;

  template <class IsIt>
  [[nodiscard]] std::optional<std::size_t> slot_of(std::size_t hash, IsIt is_it) const {
    if (slots_.empty()) return std::nullopt;
    for (auto at = first_slot(hash); slots_[at] != kFree; at = next(at)) {
      if (is_it(slots_[at] - 1)) return at;
    }
    return std::nullopt;
  }
  // The search for a value begins here.  Consecutive numbers, as hashes often are, are spread.
  [[nodiscard]] std::size_t first_slot(std::size_t hash) const {
    const auto spread = static_cast<std::uint64_t>(hash) * 0x9e3779b97f4a7c15ULL;
    return static_cast<std::size_t>(spread >> 32) & (slots_.size() - 1);
  }
  [[nodiscard]] std::size_t next(std::size_t slot) const {
    return (slot + 1) & (slots_.size() - 1);
  }
  [[nodiscard]] std::size_t distance(std::size_t from, std::size_t to) const {
    return (to - from) & (slots_.size() - 1);
  }
  void put(std::size_t hash, Position taken) noexcept {
    auto at = first_slot(hash);
    while (slots_[at] != kFree) at = next(at);
    slots_[at] = taken;
  }

  std::size_t size_ = 0;
  std::vector<Position> slots_;  // a power of two, or none
};

}  // namespace framefs::fs
