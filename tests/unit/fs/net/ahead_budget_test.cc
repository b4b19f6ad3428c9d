#include "fs/net/cache/ahead_budget.h"

#include <chrono>
#include <cstdint>

#include "tests/support/catch.h"

namespace framefs::net::ahead_budget_test {
namespace {

using Course = SequentialStreams::Course;
using Time = AheadBudget::Time;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kMemory = 120 * kMiB;
constexpr auto kThird = kMemory / AheadBudget::kWindowShare;

ContentKey key_of(std::uint64_t number) { return {.high = 0, .low = number}; }

// A budget whose network could have more under way than any memory holds.
struct Budget {
  AheadBudget budget{kMemory};
  Time now{seconds(100)};

  std::uint64_t window_of(std::uint64_t number) {
    return budget.limits(key_of(number), {.pipe_bytes = kMemory}, 0, now).window_bytes;
  }
};

TEST_CASE("ahead_budget: a window is several times the bytes that fill the network",
          "[net][ahead_budget][unit]") {
  AheadBudget budget(1'000 * kMiB);
  const auto window = [&](std::uint64_t pipe_bytes) {
    return budget.limits(key_of(1), {.pipe_bytes = pipe_bytes}, 0, {}).window_bytes;
  };
  CHECK(window(0) == AheadBudget::kUsualWindowBytes);
  CHECK(window(kMiB) == AheadBudget::kUsualWindowBytes);
  CHECK(window(20 * kMiB) == AheadBudget::kPipesPerWindow * 20 * kMiB);
  CHECK(window(500 * kMiB) == 1'000 * kMiB / AheadBudget::kWindowShare);
}

TEST_CASE("ahead_budget: the readers of all objects share the memory",
          "[net][ahead_budget][unit]") {
  Budget b;
  CHECK(b.window_of(1) == kThird);
  b.budget.note_reader(key_of(1), b.now);
  CHECK(b.window_of(1) == kThird);
  CHECK(b.window_of(2) == kThird / 2);
  b.budget.note_reader(key_of(2), b.now);
  CHECK(b.window_of(1) == kThird / 2);
  CHECK(b.window_of(3) == kThird / 3);
  b.budget.forget(key_of(2));
  CHECK(b.window_of(1) == kThird);
}

TEST_CASE("ahead_budget: a reader that has not read for long has no part",
          "[net][ahead_budget][unit]") {
  Budget b;
  b.budget.note_reader(key_of(1), b.now);
  b.now += AheadBudget::kActive;
  CHECK(b.window_of(2) == kThird / 2);
  b.now += milliseconds(1);
  CHECK(b.window_of(2) == kThird);
}

TEST_CASE("ahead_budget: requests under way leave less to fetch", "[net][ahead_budget][unit]") {
  AheadBudget budget(kMemory);
  const auto fetch = [&](std::uint64_t flying_bytes) {
    return budget.limits(key_of(1), {}, flying_bytes, {}).fetch_bytes;
  };
  constexpr auto kMost = kMemory / AheadBudget::kFlyingShare;
  CHECK(fetch(0) == kMost);
  CHECK(fetch(kMiB) == kMost - kMiB);
  CHECK(fetch(kMost) == 0);
  CHECK(fetch(kMemory) == 0);
}

TEST_CASE("ahead_budget: after readers that left early, the first window is small",
          "[net][ahead_budget][unit]") {
  AheadBudget budget(kMemory);
  const auto first = [&](std::uint64_t first_pipe_bytes) {
    return budget.limits(key_of(1), {.first_pipe_bytes = first_pipe_bytes}, 0, {}).first_bytes;
  };
  CHECK(first(0) == 0);
  CHECK(first(5 * kMiB) == 5 * kMiB);
  CHECK(first(500 * kMiB) == AheadBudget::kMaxFirstWindowBytes);
  budget.note_course(Course::left_early);
  CHECK(first(kMiB) == kMiB);
  budget.note_course(Course::none);
  budget.note_course(Course::left_early);
  CHECK(first(kMiB) == 0);
  budget.note_course(Course::none);
  CHECK(first(kMiB) == 0);
  budget.note_course(Course::went_on);
  CHECK(first(kMiB) == kMiB);
}

}  // namespace
}  // namespace framefs::net::ahead_budget_test
