#include "fs/net/cache/object_ranges.h"

#include <algorithm>
#include <random>
#include <vector>

#include "tests/support/catch.h"

namespace framefs::net::object_ranges_test {
namespace {

struct Known {
  ContentKey key;
  ByteRange range;
  int value;
};

bool holds(ByteRange range, std::uint64_t offset) {
  return offset >= range.offset && offset - range.offset < range.size;
}

// Oracle: a list of all ranges.
TEST_CASE("object_ranges: as a list of ranges", "[net][object_ranges][unit]") {
  std::mt19937 random(5);
  ObjectRanges<int> ranges;
  std::vector<Known> list;
  for (int i = 0; i < 3000; ++i) {
    const ContentKey key{.high = 1, .low = random() % 3};
    const ByteRange range{random() % 500, 1 + random() % 20};
    const auto is_here = [&](const Known& known) { return known.key == key; };
    const bool overlaps = std::ranges::any_of(list, [&](const Known& known) {
      return is_here(known) && known.range.offset < range.offset + range.size &&
             range.offset < known.range.offset + known.range.size;
    });
    REQUIRE(ranges.overlaps(key, range) == overlaps);
    if (!overlaps) {
      REQUIRE(ranges.insert(key, range, i));
      list.push_back({key, range, i});
    } else if (random() % 2 == 0) {
      ranges.erase(key, range.offset);
      std::erase_if(list, [&](const Known& known) {
        return is_here(known) && known.range.offset == range.offset;
      });
    } else if (random() % 8 == 0) {
      const auto is_old = [&](int value) { return value < i - 100; };
      ranges.erase_if(key, is_old);
      std::erase_if(list,
                    [&](const Known& known) { return is_here(known) && is_old(known.value); });
    }
    const auto offset = random() % 530;
    const auto found = std::ranges::find_if(
        list, [&](const Known& known) { return is_here(known) && holds(known.range, offset); });
    const auto* value = ranges.find(key, offset);
    REQUIRE((value != nullptr) == (found != list.end()));
    if (value != nullptr) REQUIRE(*value == found->value);
    std::optional<std::uint64_t> next;
    for (const auto& known : list) {
      if (!is_here(known) || known.range.offset <= offset) continue;
      next = std::min(next.value_or(known.range.offset), known.range.offset);
    }
    REQUIRE(ranges.next_begin(key, offset) == next);
  }
}

TEST_CASE("object_ranges: of two ranges with one begin, the first stays",
          "[net][object_ranges][unit]") {
  ObjectRanges<int> ranges;
  const ContentKey key{1, 2};
  CHECK(ranges.insert(key, {100, 10}, 1));
  CHECK_FALSE(ranges.insert(key, {100, 20}, 2));
  REQUIRE(ranges.find(key, 109) != nullptr);
  CHECK(*ranges.find(key, 109) == 1);
  CHECK(ranges.find(key, 110) == nullptr);
}

}  // namespace
}  // namespace framefs::net::object_ranges_test
