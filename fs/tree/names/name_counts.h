#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace framefs::fs {

// Tells which names were added once only.  Two names with one hash count as one name, added twice.
// Threads: one, or several that only ask.
class NameCounts {
 public:
  // For at most `names` calls of add().
  explicit NameCounts(std::size_t names) : places_(std::bit_ceil(2 * names + 1)) {}

  void add(std::string_view name) {
    const auto mark = mark_of(name);
    auto& place = places_[place_of(mark)];
    place = place == 0 ? mark : mark | kAgain;
  }
  [[nodiscard]] bool is_unique(std::string_view name) const {
    const auto mark = mark_of(name);
    return places_[place_of(mark)] == mark;
  }

 private:
  static constexpr std::uint64_t kAgain = 1;
  // Neither 0, which is a free place, nor with kAgain.
  static std::uint64_t mark_of(std::string_view name) {
    return (std::hash<std::string_view>{}(name) | 2U) & ~kAgain;
  }
  // The place of the mark, or the one that it would get.
  [[nodiscard]] std::size_t place_of(std::uint64_t mark) const {
    constexpr unsigned kOwnBits = 2;  // the others are those of the hash
    auto at = (mark >> kOwnBits) & (places_.size() - 1);
    while (places_[at] != 0 && (places_[at] & ~kAgain) != mark) at = (at + 1) % places_.size();
    return at;
  }

  std::vector<std::uint64_t> places_;
};

}  // namespace framefs::fs
