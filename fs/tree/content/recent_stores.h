#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace framefs::fs {

// Remembers which blocks were stored lately, in a table of fixed size.  A block that is offered
// again has lost its pages, because the kernel lacks memory for them, or they are on their way.  To
// store it each time would cost more than the reads that it saves.
// Threads: one at a time.
class RecentStores {
 public:
  // A block is stored at its first offer, and then at every kOffersPerStore-th.
  static constexpr std::uint32_t kOffersPerStore = 5;

  // Whether an offered block is to be stored.
  enum class Answer : std::uint8_t {
    no,
    first,  // it was not stored lately
    again   // its pages were lost meanwhile
  };
  // Notes that a block is offered.  Two blocks with the same place in the table overwrite each
  // other.
  Answer note(std::uint64_t hash) {
    auto& place = places_[hash % kPlaces];
    const auto mark = mark_of(hash);
    const bool is_known = place.offers > 0 && place.mark == mark;
    place = {.mark = mark,
             .offers = is_known && place.offers < kOffersPerStore ? place.offers + 1 : 1};
    if (place.offers > 1) return Answer::no;
    return is_known ? Answer::again : Answer::first;
  }

  // The block was not stored after all.
  void forget(std::uint64_t hash) {
    auto& place = places_[hash % kPlaces];
    if (place.mark == mark_of(hash)) place = {};
  }

 private:
  struct Place {
    std::uint32_t mark = 0;
    std::uint32_t offers = 0;  // since the block was last stored, that one included
  };
  static std::uint32_t mark_of(std::uint64_t hash) {
    return static_cast<std::uint32_t>(hash >> 32);
  }
  static constexpr std::size_t kPlaces = std::size_t{1} << 15;  // blocks of 4 GiB, if of 128 KiB
  std::vector<Place> places_ = std::vector<Place>(kPlaces);
};

}  // namespace framefs::fs
