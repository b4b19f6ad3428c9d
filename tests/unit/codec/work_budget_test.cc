#include "codec/core/work_budget.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "codec/chunk/chunk_reader.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/outcome.h"
#include "tests/support/random_seed.h"
#include "tests/support/sample_data.h"
#include "tests/support/threads.h"

namespace framefs::codec::work_budget_test {
namespace {

constexpr std::uint64_t kMuch = std::numeric_limits<std::uint64_t>::max();

TEST_CASE("work_budget: work beyond the budget is refused", "[codec][work_budget][unit]") {
  WorkBudget budget(100, {});
  CHECK(budget.spend(60));
  CHECK(budget.spend(40));
  CHECK(budget.check());
  const auto refused = budget.spend(1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == Errc::over_limit);
  CHECK(is_work_error(refused.error()));
  CHECK_FALSE(is_interrupt(refused.error()));
  CHECK_FALSE(budget.check());
  budget.allow(10);
  CHECK(budget.spend(10));
  CHECK_FALSE(is_work_error(Error{.kind = Errc::over_limit, .field = "blocksize"}));
}

TEST_CASE("work_budget: a request without a waiting caller ends soon",
          "[codec][work_budget][unit]") {
  bool is_wanted = true;
  WorkBudget budget(kMuch, [&] { return is_wanted; });
  CHECK(budget.spend(64u << 20));
  is_wanted = false;
  Status spent;
  // Small units: time alone decides.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (spent && std::chrono::steady_clock::now() < end) spent = budget.spend(1);
  REQUIRE_FALSE(spent);
  CHECK(is_interrupt(spent.error()));
  CHECK(spent.error().sys == EINTR);
  is_wanted = true;  // an end is final
  CHECK_FALSE(budget.spend(1));
}

TEST_CASE("work_budget: the question whether the result is wanted is asked every 10 ms",
          "[codec][work_budget][unit]") {
  std::int64_t asked = 0;
  WorkBudget budget(kMuch, [&] { return ++asked > 0; });
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::steady_clock::now() - begin; };
  while (asked < 5 && elapsed() < std::chrono::seconds(60)) REQUIRE(budget.spend(1));
  CHECK(asked == 5);
  CHECK(asked <= elapsed() / std::chrono::milliseconds(10) + 1);
}

TEST_CASE("work_budget: a scope is of one thread, and nests", "[codec][work_budget][unit]") {
  CHECK(spend_work(kMuch));
  WorkBudget outer(10, {});
  WorkBudget inner(5, {});
  const WorkScope scope(&outer);
  {
    const WorkScope nested(&inner);
    CHECK_FALSE(spend_work(6));
    CHECK_FALSE(check_work());
  }
  CHECK(check_work());
  CHECK(spend_work(10));
  bool is_bounded_elsewhere = true;
  test::on_threads(1, [&](std::size_t) { is_bounded_elsewhere = !spend_work(kMuch); });
  CHECK_FALSE(is_bounded_elsewhere);
}

TEST_CASE("work_budget: threads that share a budget spend no more than it has",
          "[codec][work_budget][race]") {
  WorkBudget budget(10'000, {});
  std::atomic<std::uint64_t> spent{0};
  test::on_threads(4, [&](std::size_t) {
    while (budget.spend(7)) spent.fetch_add(7);
  });
  CHECK(spent == 10'000 / 7 * 7);
}

TEST_CASE("work_budget: what a thread has taken ahead is given back",
          "[codec][work_budget][unit]") {
  constexpr std::uint64_t kUnits = 10'000'000;
  WorkBudget budget(kUnits, {});
  {
    const WorkScope scope(&budget);
    // Another scope of the same budget, as of a call that a thread runs for itself.
    for (int i = 0; i < 1000; ++i) {
      REQUIRE(spend_work(100));
      const WorkScope nested(&budget);
      REQUIRE(spend_work(900));
    }
    CHECK(budget.spend(kUnits - 1'010'000));
    REQUIRE(spend_work(8'000));
  }
  CHECK(budget.spend(2'000));
  CHECK_FALSE(budget.spend(1));
}

TEST_CASE("work_budget: the last units are spent by any thread", "[codec][work_budget][race]") {
  constexpr std::uint64_t kUnits = 100'000;
  WorkBudget budget(kUnits, {});
  std::atomic<std::uint64_t> spent{0};
  test::on_threads(4, [&](std::size_t) {
    const WorkScope scope(&budget);
    while (spend_work(7)) spent.fetch_add(7);
  });
  CHECK(spent <= kUnits);
  CHECK(spent > kUnits - 4 * (kUnits / 256 + 7));
}

// Oracle: the decoded bytes; each block is to be spent once.
TEST_CASE("chunk_reader: small reads of one block decode it once", "[codec][chunk_reader][unit]") {
  const auto data = test::ramp(40'000, 4);
  test::ChunkSpec spec;
  spec.codec = test::Codec::zstd;
  spec.blocksize = 20'000;
  const auto stored = test::build_chunk(data, spec);
  const MemorySource source(stored);
  const auto chunk = Chunk::open(source, 0, stored.size(), {}, {});
  INFO(test::outcome(chunk));
  REQUIRE(chunk);
  WorkBudget budget(40'000, {});
  const WorkScope scope(&budget);
  ChunkReader reader(source, *chunk);
  for (std::uint64_t at = 0; at < data.size(); at += 100) {
    test::Bytes piece(100);
    const auto read = reader.read(at, piece);
    INFO(test::outcome(read));
    REQUIRE(read);
    REQUIRE(std::ranges::equal(piece, std::span(data).subspan(at, piece.size())));
  }
  CHECK_FALSE(spend_work(1));
}

// The units that opening a chunk spends.
std::uint64_t cost_of_opening(const test::Bytes& stored) {
  WorkBudget budget(kMuch, {});
  const MemorySource source(stored);
  {
    const WorkScope scope(&budget);
    const auto chunk = Chunk::open(source, 0, stored.size(), {}, {});
    INFO(test::outcome(chunk));
    REQUIRE(chunk);
  }
  std::uint64_t left = 0;
  for (auto units = std::uint64_t{1} << 63; units > 0; units /= 2) {
    if (budget.spend(units)) left += units;
  }
  return kMuch - left;
}

// Oracle: the measured times of the parts of a chunk: a start 5 ns, an unordered one 300 ns, a byte
// of a dictionary 3 ns.  A unit stands for about 1 ns.
TEST_CASE("chunk: tables and dictionaries are work of the request", "[codec][chunk][unit]") {
  constexpr std::size_t kBlocks = 10'000;
  test::ChunkSpec spec;
  spec.typesize = 1;
  const auto small = cost_of_opening(test::build_chunk(test::noise(4, 1), spec));
  CHECK(small >= 1);
  CHECK(small <= 1000);

  spec.dictionary = test::ramp_dictionary(30'000, 4);
  CHECK(cost_of_opening(test::build_chunk(test::noise(4, 1), spec)) >= small + 3 * 30'000);
  spec.dictionary = {};

  spec.blocksize = 4;
  auto chunk = test::build_chunk(test::noise(4 * kBlocks, 1), spec);
  const auto ordered = cost_of_opening(chunk);
  CHECK(ordered >= 5 * kBlocks);
  CHECK(ordered <= 100 * kBlocks);
  std::swap_ranges(chunk.begin() + 32, chunk.begin() + 36, chunk.begin() + 36);
  CHECK(cost_of_opening(chunk) >= 300 * kBlocks);

  const auto value = test::noise(50'000, 1);
  const auto repeated = test::build_special_chunk(test::SpecialKind::value, 100'000, 255, value);
  CHECK(cost_of_opening(repeated) >= value.size());
}

TEST_CASE("chunk: the ends of unordered blocks are the starts of the next ones, for any number",
          "[codec][chunk][unit]") {
  // More starts than are read at once.
  constexpr std::size_t kBlocks = 200'000;
  test::ChunkSpec spec;
  spec.typesize = 1;
  spec.blocksize = 1;
  const auto good = test::build_chunk(test::noise(kBlocks, 1), spec);
  auto mixed = good;
  std::mt19937_64 random(test::random_seed());
  const auto start_of = [&](std::size_t block) {
    return mixed.begin() + 32 + static_cast<std::ptrdiff_t>(4 * block);
  };
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const auto other = random() % kBlocks;
    if (other != i) std::swap_ranges(start_of(i), start_of(i) + 4, start_of(other));
  }
  const MemorySource one(good);
  const MemorySource other(mixed);
  const auto ordered = Chunk::open(one, 0, good.size(), {}, {});
  const auto unordered = Chunk::open(other, 0, mixed.size(), {}, {});
  REQUIRE(ordered);
  REQUIRE(unordered);
  // Each block has its own place: the two chunks have the same places in another order.
  const auto places = [](const Chunk& chunk) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
    for (std::uint64_t block = 0; block < kBlocks; ++block) {
      const auto range = chunk.stored_range({block});
      REQUIRE(range);
      found.emplace_back(range->offset, range->size);
    }
    std::ranges::sort(found);
    return found;
  };
  CHECK(places(*ordered) == places(*unordered));
}

}  // namespace
}  // namespace framefs::codec::work_budget_test
