#include "fs/write/overlay/extents.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/random_seed.h"

namespace framefs::fs::extents_test {
namespace {

using Extent = Extents::Extent;

TEST_CASE("extents: ranges that touch become one", "[fs][write][unit]") {
  Extents extents;
  extents.add(10, 20);
  extents.add(30, 40);
  CHECK(extents.all() == std::vector<Extent>{{10, 20}, {30, 40}});
  extents.add(20, 30);
  CHECK(extents.all() == std::vector<Extent>{{10, 40}});
}

TEST_CASE("extents: an empty range is covered", "[fs][write][unit]") {
  const Extents extents;
  CHECK(extents.covers(5, 5));
  CHECK_FALSE(extents.covers(5, 6));
  CHECK_FALSE(extents.touches(0, 100));
}

TEST_CASE("extents: they say the same as one flag for each byte", "[fs][write][unit]") {
  constexpr std::uint32_t kBytes = 60;
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](std::uint32_t below) {
    return static_cast<std::uint32_t>(random() % below);
  };
  for (int run = 0; run < 200; ++run) {
    Extents extents;
    std::vector<bool> flags(kBytes);
    for (int step = 0; step < 30; ++step) {
      const auto begin = pick(kBytes);
      const auto end = begin + 1 + pick(kBytes - begin);
      if (pick(6) == 0) {
        extents.truncate(begin);
        std::fill(flags.begin() + begin, flags.end(), false);
      } else {
        extents.add(begin, end);
        std::fill(flags.begin() + begin, flags.begin() + end, true);
      }

      std::vector<bool> listed(kBytes);
      std::uint32_t last = 0;
      for (const auto& extent : extents.all()) {
        REQUIRE((extent.begin > last || (last == 0 && extent.begin == 0)));
        REQUIRE(extent.begin < extent.end);
        last = extent.end;
        std::fill(listed.begin() + extent.begin, listed.begin() + extent.end, true);
      }
      REQUIRE(listed == flags);

      const auto from = pick(kBytes);
      const auto to = from + 1 + pick(kBytes - from);
      const auto first = flags.begin() + from;
      const auto behind = flags.begin() + to;
      REQUIRE(extents.covers(from, to) == std::all_of(first, behind, [](bool is) { return is; }));
      REQUIRE(extents.touches(from, to) == std::any_of(first, behind, [](bool is) { return is; }));
      auto at = from;
      extents.for_each(from, to, [&](auto part_begin, auto part_end, bool is_in) {
        REQUIRE(part_begin == at);
        REQUIRE(part_begin < part_end);
        for (; at < part_end; ++at) REQUIRE(flags[at] == is_in);
      });
      REQUIRE(at == to);
    }
  }
}

}  // namespace
}  // namespace framefs::fs::extents_test
