#include "codec/core/work_budget.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <span>

#include "codec/chunk/chunk_reader.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/outcome.h"
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
  std::uint64_t bytes = 0;
  for (; spent && bytes < (64u << 20); bytes += 4096) spent = budget.spend(4096);
  CHECK(bytes <= 2u << 20);
  REQUIRE_FALSE(spent);
  CHECK(is_interrupt(spent.error()));
  CHECK(spent.error().sys == EINTR);
  is_wanted = true;  // an end is final
  CHECK_FALSE(budget.spend(1));
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

}  // namespace
}  // namespace framefs::codec::work_budget_test
