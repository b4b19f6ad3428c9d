#include "fs/read/read_pattern.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/random_seed.h"
#include "tests/support/threads.h"

namespace framefs::fs::read_pattern_test {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kMuch = 1u << 30;
constexpr std::uint64_t kProof = 4 * kMiB;  // a stretch after which bytes are taken ahead
constexpr std::uint64_t kAhead = 8 * kMiB;
constexpr std::uint64_t kEndless = std::numeric_limits<std::uint64_t>::max();

struct Reader {
  explicit Reader(std::uint64_t limit = kMuch) : Reader(std::make_shared<AheadBudget>(limit)) {}
  explicit Reader(std::shared_ptr<AheadBudget> shared)
      : budget(std::move(shared)), pattern(budget) {}

  void read_in_order(std::uint64_t begin, std::uint64_t end, std::uint64_t piece = kMiB) {
    for (auto at = begin; at < end; at += piece) pattern.note(at, piece);
  }
  // Takes everything available, which must be one range.
  ByteRange take_all() {
    ByteRange all{};
    while (const auto next = pattern.take_ahead(kEndless)) {
      if (all.size == 0) all.offset = next->offset;
      REQUIRE(next->offset == all.offset + all.size);
      all.size += next->size;
    }
    return all;
  }

  std::shared_ptr<AheadBudget> budget;
  ReadPattern pattern;
};

TEST_CASE("read_pattern: a reader that continues past a long stretch wants more",
          "[fs][read_pattern][unit]") {
  Reader reader;
  CHECK_FALSE(reader.pattern.wants_more());
  reader.read_in_order(0, kProof);
  CHECK_FALSE(reader.pattern.wants_more());
  CHECK_FALSE(reader.pattern.take_ahead(kEndless));

  reader.read_in_order(kProof, kProof + kMiB);
  CHECK(reader.pattern.wants_more());
  CHECK(reader.take_all() == ByteRange{kProof + kMiB, kAhead});
  CHECK_FALSE(reader.pattern.wants_more());

  reader.read_in_order(kProof + kMiB, kProof + 3 * kMiB);
  CHECK(reader.take_all() == ByteRange{kProof + kMiB + kAhead, 2 * kMiB});
}

TEST_CASE("read_pattern: a stretch may begin anywhere and come in pieces of any size",
          "[fs][read_pattern][unit]") {
  for (const std::uint64_t piece : {4096U, 131072U, 1U << 20}) {
    INFO("pieces of " << piece);
    Reader reader;
    const std::uint64_t begin = 100 * kMiB + 4096;
    reader.read_in_order(begin, begin + kProof + piece, piece);
    CHECK(reader.take_all() == ByteRange{begin + kProof + piece, kAhead});
  }
}

// Oracle: a sequential range whose requests the kernel reorders only slightly.
TEST_CASE("read_pattern: requests that overtake each other make no gap",
          "[fs][read_pattern][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  Reader reader;
  std::uint64_t taken_to = 0;
  for (std::uint64_t window = 0; window < 20; ++window) {
    std::vector<std::uint64_t> places;
    for (std::uint64_t i = 0; i < 4; ++i) places.push_back(window * kProof + i * kMiB);
    std::ranges::shuffle(places, random);
    for (const auto at : places) {
      const auto access = reader.pattern.note(at, kMiB);
      CHECK(access == (window == 0 ? Access::sequential : Access::streaming));
    }
    const auto taken = reader.take_all();
    CHECK((taken.size > 0) == (window > 0));
    if (taken_to != 0) CHECK(taken.offset == taken_to);
    taken_to = taken.offset + taken.size;
  }
  CHECK(taken_to == 20 * kProof + kAhead);
}

TEST_CASE("read_pattern: a random reader wants nothing", "[fs][read_pattern][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  struct Case {
    const char* what;
    std::uint64_t file;
    std::uint64_t piece;
  };
  for (const auto& [what, file, piece] : {Case{"little in a large file", 1024 * kMiB, 4096},
                                          Case{"much in a large file", 1024 * kMiB, kMiB},
                                          Case{"little in a small file", 7 * kMiB, 4096},
                                          Case{"much in a small file", 16 * kMiB, 65536}}) {
    INFO(what);
    Reader reader;
    int wanted = 0;
    for (int i = 0; i < 20000; ++i) {
      reader.pattern.note(random() % (file / piece) * piece, piece);
      wanted += static_cast<int>(reader.pattern.wants_more());
    }
    // In a small area, random reads may briefly look sequential.
    CHECK(wanted <= 20000 / 100);
  }
}

TEST_CASE("read_pattern: a window of the kernel's here and there is no stretch",
          "[fs][read_pattern][unit]") {
  Reader reader;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const auto at = (i * 37 % 50) * 16 * kMiB;
    reader.read_in_order(at, at + kProof);
    CHECK_FALSE(reader.pattern.wants_more());
  }
}

TEST_CASE("read_pattern: a reader that jumps, goes back or reads again is no longer sequential",
          "[fs][read_pattern][unit]") {
  for (const std::uint64_t next : {100 * kMiB, std::uint64_t{0}, 5 * kMiB}) {
    INFO("then at " << next);
    Reader reader;
    reader.read_in_order(kMiB, 10 * kMiB);
    CHECK(reader.pattern.take_ahead(kEndless));
    reader.pattern.note(next, kMiB);
    // A small step back may be a request that was overtaken, but not repeatedly.
    for (int i = 0; next == 5 * kMiB && i < 5; ++i) reader.pattern.note(next, kMiB);
    CHECK_FALSE(reader.pattern.wants_more());
    CHECK_FALSE(reader.pattern.take_ahead(kEndless));
  }
}

TEST_CASE("read_pattern: bytes that the reader has reached are not ahead of it",
          "[fs][read_pattern][unit]") {
  Reader reader;
  reader.read_in_order(0, 5 * kMiB);
  REQUIRE(reader.pattern.take_ahead(kEndless));
  reader.read_in_order(5 * kMiB, 9 * kMiB);
  CHECK(reader.take_all() == ByteRange{9 * kMiB, kAhead});
}

// Oracle: the whole budget can be taken again when no reader is ahead.
TEST_CASE("read_pattern: all readers together stay within the budget", "[fs][read_pattern][unit]") {
  const auto budget = std::make_shared<AheadBudget>(10 * kMiB);
  {
    Reader one(budget);
    Reader two(budget);
    one.read_in_order(0, 5 * kMiB);
    two.read_in_order(0, 5 * kMiB);
    CHECK(one.take_all().size == kAhead);
    CHECK(two.take_all().size == 10 * kMiB - kAhead);
    CHECK(two.pattern.wants_more());
    // Budget for bytes that one reader has reached is available to another.
    one.read_in_order(5 * kMiB, 8 * kMiB);
    CHECK(two.take_all().size == 3 * kMiB);
    // So is the budget for bytes that the reader will no longer reach.
    one.pattern.note(500 * kMiB, kMiB);
    CHECK(two.take_all().size == 3 * kMiB);
  }
  CHECK(budget->take(10 * kMiB));
  CHECK_FALSE(budget->take(1));
}

// Oracle: the reads, and the sum of the ranges taken.
TEST_CASE("read_pattern: decoded bytes are counted as used or wasted", "[fs][read_pattern][unit]") {
  const auto budget = std::make_shared<AheadBudget>(kMuch);
  const auto check = [&](std::uint64_t decoded, std::uint64_t used, std::uint64_t wasted) {
    const auto counts = budget->counts();
    CHECK(counts.decoded_bytes == decoded);
    CHECK(counts.used_bytes == used);
    CHECK(counts.wasted_bytes == wasted);
  };
  {
    Reader reader(budget);
    reader.read_in_order(0, 5 * kMiB);
    check(0, 0, 0);
    REQUIRE(reader.take_all().size == kAhead);
    reader.read_in_order(5 * kMiB, 7 * kMiB);
    check(kAhead, 2 * kMiB, 0);
    reader.pattern.note(500 * kMiB, kMiB);
    check(kAhead, 2 * kMiB, kAhead - 2 * kMiB);
    reader.read_in_order(501 * kMiB, 506 * kMiB);
    REQUIRE(reader.take_all().size == kAhead);
    reader.read_in_order(506 * kMiB, 507 * kMiB);
    // Nothing is taken behind the end of the file.
    const auto more = reader.pattern.take_ahead(506 * kMiB + kAhead + 100);
    REQUIRE(more);
    CHECK(*more == ByteRange{506 * kMiB + kAhead, 100});
    CHECK_FALSE(reader.pattern.take_ahead(more->offset + more->size));
    CHECK(reader.take_all().offset == more->offset + more->size);
  }
  check(2 * kAhead + kMiB + 100, 3 * kMiB, 2 * kAhead - 2 * kMiB + 100);
}

// Oracle: the budget afterwards; no range is taken twice.
TEST_CASE("read_pattern: many threads read and take", "[fs][read_pattern][race]") {
  const auto budget = std::make_shared<AheadBudget>(kMuch);
  {
    const auto pattern = std::make_shared<ReadPattern>(budget);
    std::atomic<std::uint64_t> next{0};
    std::vector<std::vector<std::uint64_t>> taken(4);
    // The range is small enough that a delayed thread is still close to the others.
    test::on_threads(taken.size(), [&](std::size_t thread) {
      for (int i = 0; i < 500; ++i) {
        pattern->note(next.fetch_add(4096), 4096);
        if (const auto range = pattern->take_ahead(kEndless))
          taken[thread].push_back(range->offset);
      }
    });
    std::vector<std::uint64_t> all;
    for (const auto& some : taken) all.insert(all.end(), some.begin(), some.end());
    std::ranges::sort(all);
    CHECK(all.size() > 30);
    CHECK(std::ranges::adjacent_find(all) == all.end());
  }
  CHECK(budget->take(kMuch));
}

TEST_CASE("read_pattern: long stretches are scans, many short ones are jumps",
          "[fs][read_pattern][unit]") {
  SECTION("nothing read") { CHECK(Reader().pattern.habit() == ReadHabit::unknown); }
  SECTION("one stretch") {
    Reader reader;
    reader.read_in_order(0, 3 * kMiB);
    CHECK(reader.pattern.habit() == ReadHabit::unknown);
    reader.read_in_order(3 * kMiB, kProof);
    CHECK(reader.pattern.habit() == ReadHabit::scans);
  }
  // Whether the parts of a scan that goes on elsewhere, or the jumps, are more.
  SECTION("stretches") {
    struct Case {
      std::uint64_t count;
      std::uint64_t bytes;
      ReadHabit habit;
    };
    for (const auto& [count, bytes, habit] :
         {Case{20, 512u << 10, ReadHabit::jumps}, Case{20, 128u << 10, ReadHabit::jumps},
          Case{20, 4096, ReadHabit::unknown}, Case{5, 512u << 10, ReadHabit::unknown},
          Case{5, 8 * kMiB, ReadHabit::scans}}) {
      Reader reader;
      for (std::uint64_t i = 1; i <= count; ++i) {
        reader.read_in_order(i * 100 * kMiB, i * 100 * kMiB + bytes, std::min(bytes, kMiB));
      }
      CAPTURE(count, bytes);
      CHECK(reader.pattern.habit() == habit);
    }
  }
}

}  // namespace
}  // namespace framefs::fs::read_pattern_test
