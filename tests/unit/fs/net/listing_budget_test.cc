#include "fs/net/store/listing_budget.h"

#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "fs/core/threads/interrupt.h"
#include "tests/support/catch.h"

namespace framefs::net::listing_budget_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

TEST_CASE("listing_budget: charges count until they go", "[net][listing][unit]") {
  ListingBudget budget(100);
  {
    auto first = budget.charge();
    auto second = budget.charge();
    CHECK(first.grow(60));
    CHECK_FALSE(second.grow(41));
    CHECK(second.grow(40));
    CHECK(budget.used() == 100);
    first.shrink_to(10);
    CHECK(budget.used() == 50);
    second = std::move(first);
    CHECK(budget.used() == 10);
  }
  CHECK(budget.used() == 0);
}

TEST_CASE("listing_budget: kept listings make room, oldest first", "[net][listing][unit]") {
  ListingBudget budget(100);
  std::vector<ListingBudget::Charge> kept;
  budget.set_evict([&] {
    if (kept.empty()) return false;
    kept.erase(kept.begin());
    return true;
  });
  for (int i = 0; i < 3; ++i) {
    kept.push_back(budget.charge());
    REQUIRE(kept.back().grow(30));
  }
  auto large = budget.charge();
  CHECK(large.grow(50));
  CHECK(kept.size() == 1);
  CHECK_FALSE(large.grow(51));
  CHECK(kept.empty());
}

TEST_CASE("listing_budget: a reserved part is used first", "[net][listing][unit]") {
  ListingBudget budget(100);
  auto whole = *budget.reserve(80, milliseconds(0));
  auto part = whole.split(30);
  CHECK(part.grow(30));
  CHECK(whole.grow(50));
  CHECK(budget.used() == 80);
  CHECK(part.grow(20));
  CHECK(budget.used() == 100);
  CHECK_FALSE(whole.grow(1));
}

TEST_CASE("listing_budget: a reservation waits for room", "[net][listing][unit]") {
  ListingBudget budget(100);
  auto held = budget.charge();
  REQUIRE(held.grow(50));
  CHECK(is_over_budget(budget.reserve(60, milliseconds(1)).error()));
  {
    const fs::InterruptScope scope([] { return true; });
    CHECK(budget.reserve(60, minutes(1)).error().sys == EINTR);
  }
  Result<ListingBudget::Charge> waited = over_listing_budget();
  std::thread waiter([&] { waited = budget.reserve(60, minutes(1)); });
  held.shrink_to(0);
  waiter.join();
  REQUIRE(waited);
  CHECK(budget.used() == 60);
}

}  // namespace
}  // namespace framefs::net::listing_budget_test
