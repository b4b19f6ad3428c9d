#include "src/check/used_ranges.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

#include "tests/support/catch.h"

namespace framefs::used_ranges_test {
namespace {

TEST_CASE("used_ranges: a range that shares a byte with another is told", "[used_ranges]") {
  UsedRanges used;
  CHECK(used.add({100, 50}));
  CHECK(used.add({150, 10}));
  CHECK(used.add({90, 10}));
  CHECK(used.add({0, 0}));
  CHECK(used.bytes() == 70);
  CHECK_FALSE(used.add({159, 1}));
  CHECK_FALSE(used.add({0, 91}));
  CHECK_FALSE(used.add({100, 50}));
  CHECK_FALSE(used.add({0, 1000}));
  CHECK(used.bytes() == 1000);
}

TEST_CASE("used_ranges: the set is that of a byte map", "[used_ranges]") {
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): reproducible
  for (int round = 0; round < 200; ++round) {
    UsedRanges used;
    std::array<bool, 64> map{};
    for (int i = 0; i < 20; ++i) {
      const auto offset = random() % map.size();
      const auto size = random() % std::min<std::size_t>(9, map.size() - offset + 1);
      bool is_free = true;
      for (auto at = offset; at < offset + size; ++at) {
        is_free = is_free && !map[at];
        map[at] = true;
      }
      REQUIRE(used.add({offset, size}) == is_free);
      std::uint64_t bytes = 0;
      for (const bool is_used : map) bytes += is_used ? 1 : 0;
      REQUIRE(used.bytes() == bytes);
    }
  }
}

}  // namespace
}  // namespace framefs::used_ranges_test
