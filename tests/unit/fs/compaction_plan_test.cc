#include "fs/write/commit/compaction_plan.h"

#include <cstdint>
#include <vector>

#include "tests/support/catch.h"

namespace framefs::fs::compaction_plan_test {
namespace {

using Entries = std::vector<std::int64_t>;
using Sizes = std::vector<std::uint32_t>;

TEST_CASE("compaction_plan: chunks lie in the order of the index, without gaps",
          "[fs][compaction_plan][unit]") {
  // A gap at the beginning, a chunk of zeros, and two chunks in the wrong order.
  const Entries before = {100, -1, 300, 200};
  const CompactionPlan plan(before, {50, 0, 70, 60});
  CHECK(plan.entries() == Entries{0, -1, 50, 120});
  CHECK(plan.end() == 180);
}

TEST_CASE("compaction_plan: entries that share a chunk get one each",
          "[fs][compaction_plan][unit]") {
  const Entries before = {0, 0, 0};
  const CompactionPlan plan(before, {10, 10, 10});
  CHECK(plan.entries() == Entries{0, 10, 20});
  // Only the first is at its place.
  CHECK(plan.in_the_way(30) == Sizes{0, 10, 10});
}

TEST_CASE(
    "compaction_plan: only chunks within the new frame that change their place are in the way",
    "[fs][compaction_plan][unit]") {
  const Entries before = {0, 40, 500, -2};
  const CompactionPlan plan(before, {20, 30, 10, 0});
  CHECK(plan.entries() == Entries{0, 20, 50, -2});
  CHECK(plan.in_the_way(100) == Sizes{0, 30, 0, 0});
  CHECK(plan.in_the_way(501) == Sizes{0, 30, 10, 0});
  CHECK(plan.in_the_way(40) == Sizes{0, 0, 0, 0});
}

TEST_CASE("compaction_plan: a frame without chunks needs no place", "[fs][compaction_plan][unit]") {
  const Entries before = {-1, -1};
  const CompactionPlan plan(before, {0, 0});
  CHECK(plan.end() == 0);
  CHECK(plan.entries() == before);
  CHECK(plan.in_the_way(100) == Sizes{0, 0});
}

}  // namespace
}  // namespace framefs::fs::compaction_plan_test
