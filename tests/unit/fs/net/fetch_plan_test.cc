#include "fs/net/cache/fetch_plan.h"

#include <random>

#include "fs/net/cache/sequential_streams.h"
#include "tests/support/catch.h"
#include "tests/support/random_seed.h"

namespace framefs::net::fetch_plan_test {
namespace {

using Ranges = std::vector<ByteRange>;
constexpr std::uint64_t kMiB = 1 << 20;

bool always(ByteRange) { return true; }

TEST_CASE("fetch_plan: near ranges are one request", "[net][fetch_plan][unit]") {
  const FetchRules rules{.cheap_gap_bytes = 1000};
  CHECK(plan_fetches({{0, 4000}, {4000, 100}}, rules, always) == Ranges{{0, 4100}});
  CHECK(plan_fetches({{5000, 4000}, {0, 4500}}, rules, always) == Ranges{{0, 9000}});
  CHECK(plan_fetches({{0, 4000}, {5001, 4000}}, rules, always) == Ranges{{0, 4000}, {5001, 4000}});
  CHECK(plan_fetches({{0, 100}, {50, 100}}, rules, always) == Ranges{{0, 150}});
  CHECK(plan_fetches({{7, 0}}, rules, always).empty());
  // At most a quarter may be waste, also if it adds up from small gaps.
  CHECK(plan_fetches({{0, 100}, {900, 100}}, rules, always).size() == 2);
  CHECK(plan_fetches({{0, 400}, {500, 100}, {700, 100}, {900, 100}}, rules, always).size() > 1);
}

TEST_CASE("fetch_plan: a gap that another request fetches is left out", "[net][fetch_plan][unit]") {
  const FetchRules rules{.cheap_gap_bytes = 1000};
  const auto never = [](ByteRange) { return false; };
  CHECK(plan_fetches({{0, 4000}, {4100, 4000}}, rules, never).size() == 2);
}

TEST_CASE("fetch_plan: long ranges are divided among connections", "[net][fetch_plan][unit]") {
  const FetchRules rules{.connections = 16};
  CHECK(plan_fetches({{0, kMiB}}, rules, always).size() == 1);
  CHECK(plan_fetches({{0, 16 * kMiB}}, rules, always).size() == 16);
  CHECK(plan_fetches({{0, 64 * kMiB}}, rules, always).size() == 16);
  CHECK(plan_fetches({{0, 256 * kMiB}}, rules, always).size() == 32);  // of 8 MiB
}

// Oracle: each missing byte is fetched once.
TEST_CASE("fetch_plan: everything is fetched, nothing twice", "[net][fetch_plan][unit]") {
  const auto seed = test::random_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  for (int round = 0; round < 300; ++round) {
    Ranges missing;
    std::vector<bool> wanted(2000);
    for (auto count = below(12); count > 0; --count) {
      const ByteRange range{below(1500), below(500)};
      missing.push_back(range);
      for (auto at = range.offset; at < range.offset + range.size; ++at) wanted[at] = true;
    }
    const FetchRules rules{.cheap_gap_bytes = below(300),
                           .max_part_bytes = 400,
                           .min_part_bytes = 100,
                           .connections = 1 + below(8)};
    std::vector<int> fetched(3000);
    std::uint64_t wasted = 0;
    std::uint64_t total = 0;
    for (const auto& range : plan_fetches(missing, rules, always)) {
      REQUIRE(range.size > 0);
      REQUIRE(range.size <= rules.max_part_bytes);
      for (auto at = range.offset; at < range.offset + range.size; ++at) {
        ++fetched[at];
        ++total;
        if (!wanted[at]) ++wasted;
      }
    }
    for (std::size_t at = 0; at < wanted.size(); ++at) {
      if (wanted[at]) REQUIRE(fetched[at] == 1);
      REQUIRE(fetched[at] <= 1);
    }
    REQUIRE(wasted * kWasteShare <= total);
  }
}

constexpr SequentialStreams::Limits kLimits{.window_bytes = 16 * kMiB, .fetch_bytes = 64 * kMiB};

TEST_CASE("sequential_streams: random readers are left alone", "[net][sequential][unit]") {
  SequentialStreams streams;
  std::mt19937_64 random(1);
  const std::uint64_t size = std::uint64_t{1} << 40;
  for (int i = 0; i < 1000; ++i) {
    // A chunk's header, its table, a block of it.
    const auto chunk = random() % (size - kMiB);
    CHECK_FALSE(streams.note({chunk, 32}, size, kLimits).is_sequential);
    CHECK_FALSE(streams.note({chunk + 32, 256}, size, kLimits).is_sequential);
    CHECK_FALSE(streams.note({chunk + 300'000, 4096}, size, kLimits).is_sequential);
  }
}

// Oracle: the bytes that are fetched ahead and those that are read before make up the file, each
// byte once.
TEST_CASE("sequential_streams: a sequential reader has more and more before it",
          "[net][sequential][unit]") {
  SequentialStreams streams;
  constexpr std::uint64_t kSize = 200 * kMiB;
  std::uint64_t fetched_to = 0;
  std::uint64_t most = 0;
  for (std::uint64_t at = 0; at < kSize; at += 100'000) {
    const auto size = std::min<std::uint64_t>(100'000, kSize - at);
    const auto found = streams.note({at, size}, kSize, kLimits);
    if (!found.ahead) continue;
    REQUIRE(found.ahead->offset >= at + size);
    if (fetched_to > 0) REQUIRE(found.ahead->offset == fetched_to);
    fetched_to = found.ahead->offset + found.ahead->size;
    REQUIRE(fetched_to <= at + size + 16 * kMiB);
    most = std::max(most, fetched_to - at);
  }
  CHECK(fetched_to == kSize);
  CHECK(most > 15 * kMiB);
}

// A far server needs a full window all the time, and few requests.
TEST_CASE("sequential_streams: the window is filled up in few steps", "[net][sequential][unit]") {
  SequentialStreams streams;
  constexpr std::uint64_t kSize = 200 * kMiB;
  constexpr std::uint64_t kPiece = 100'000;
  std::uint64_t fetched_to = 0;
  std::uint64_t steps = 0;
  for (std::uint64_t at = 0; at + kPiece <= kSize / 2; at += kPiece) {
    const auto found = streams.note({at, kPiece}, kSize, kLimits);
    if (found.ahead) {
      fetched_to = found.ahead->offset + found.ahead->size;
      ++steps;
    }
    // The window is four times as large as the bytes read so far.
    if (at >= 4 * kMiB) REQUIRE(fetched_to - at >= 13 * kMiB);
    if (found.is_sequential) REQUIRE(fetched_to - (at + kPiece) <= 4 * (at + kPiece) + kMiB);
  }
  CHECK(steps <= 70);
}

TEST_CASE("sequential_streams: a large read at the beginning is sequential at once",
          "[net][sequential][unit]") {
  constexpr std::uint64_t kSize = 200 * kMiB;
  CHECK(SequentialStreams().note({97, 100'000}, kSize, kLimits).ahead);
  CHECK_FALSE(SequentialStreams().note({97, 40'000}, kSize, kLimits).is_sequential);
  CHECK_FALSE(SequentialStreams().note({kMiB, 900'000}, kSize, kLimits).is_sequential);
}

TEST_CASE("sequential_streams: bytes that may not be fetched now are fetched later",
          "[net][sequential][unit]") {
  SequentialStreams streams;
  constexpr std::uint64_t kSize = 200 * kMiB;
  std::uint64_t fetched_to = 0;
  for (std::uint64_t at = 0; at < 100 * kMiB; at += 100'000) {
    const bool has_room = at / kMiB % 2 == 1;
    const auto found = streams.note(
        {at, 100'000}, kSize, {.window_bytes = 16 * kMiB, .fetch_bytes = has_room ? kMiB : 0});
    if (!found.ahead) continue;
    REQUIRE(has_room);
    REQUIRE(found.ahead->size <= kMiB);
    if (fetched_to > at) REQUIRE(found.ahead->offset == fetched_to);
    fetched_to = found.ahead->offset + found.ahead->size;
  }
  CHECK(fetched_to > 100 * kMiB);
}

TEST_CASE("sequential_streams: several readers of one object", "[net][sequential][unit]") {
  SequentialStreams streams;
  constexpr std::uint64_t kSize = std::uint64_t{1} << 40;
  std::array<int, 4> ahead{};
  for (std::uint64_t step = 0; step < 100; ++step) {
    for (std::uint64_t reader = 0; reader < 4; ++reader) {
      streams.begin_read();
      const auto found = streams.note({reader * (kSize / 4) + step * 65536, 65536}, kSize, kLimits);
      if (found.ahead) ++ahead[reader];
    }
  }
  for (const int count : ahead) CHECK(count > 1);
}

}  // namespace
}  // namespace framefs::net::fetch_plan_test
