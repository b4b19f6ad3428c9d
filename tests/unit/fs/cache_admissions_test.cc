#include "fs/read/cache_admissions.h"

#include <atomic>
#include <cstdint>
#include <future>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/random_seed.h"
#include "tests/support/threads.h"

namespace framefs::fs::cache_admissions_test {
namespace {

TEST_CASE("cache_admissions: half of the budget is not for read-ahead",
          "[fs][cache_admissions][unit]") {
  Admissions admissions(1000);
  CHECK_FALSE(admissions.try_admit(501));
  auto half = admissions.try_admit(500);
  CHECK(half);
  CHECK_FALSE(admissions.try_admit(1));
  half.reset();
  auto waiting = admissions.admit(400);
  CHECK_FALSE(admissions.try_admit(101));
  CHECK(admissions.try_admit(100));
  waiting = admissions.admit(600);
  CHECK_FALSE(admissions.try_admit(0));
}

// Oracle: the readers' own sum of admitted bytes: at most the budget, or a single reader.
TEST_CASE("cache_admissions: admissions together stay within the budget, or there is one alone",
          "[fs][cache_admissions][race]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  constexpr std::uint64_t kBudget = 1000;
  Admissions admissions(kBudget);
  std::atomic<std::uint64_t> sum{0};
  std::atomic<int> large{0};  // beyond the budget
  std::atomic<int> offences{0};
  test::on_threads(8, [&](std::size_t i) {
    std::mt19937 random(seed + static_cast<std::uint32_t>(i));
    for (int round = 0; round < 500; ++round) {
      const std::uint64_t bytes = random() % 10 == 0 ? kBudget + random() % 1000 : random() % 600;
      const auto admission = admissions.admit(bytes);
      // Counted only while the admission is held, so the sum never exceeds the true one.
      const auto all = sum.fetch_add(bytes) + bytes;
      // Small requests have a reserve of an eighth beside the budget.
      if (bytes > kBudget / 32 && all > kBudget + kBudget / 8 && bytes <= kBudget) {
        offences.fetch_add(1);
      }
      if (bytes > kBudget && large.fetch_add(1) > 0) offences.fetch_add(1);
      if (bytes > kBudget) large.fetch_sub(1);
      sum.fetch_sub(bytes);
    }
  });
  CHECK(offences == 0);
}

TEST_CASE("cache_admissions: an admission beyond the budget proceeds alone",
          "[fs][cache_admissions][unit]") {
  Admissions admissions(100);
  test::finish_in_time("admissions one after the other", [&] {
    {
      const auto all = admissions.admit(1'000'000);
    }
    {
      const auto exact = admissions.admit(100);
    }
    const auto one = admissions.admit(60);
    const auto other = admissions.admit(40);
    const auto nothing = admissions.admit(0);
  });
  bool let_in = false;
  bool was_alone = true;
  auto first = admissions.admit(1);
  std::atomic<bool> first_is_gone{false};
  test::on_threads(2, [&](std::size_t i) {
    if (i == 0) {
      const auto large = admissions.admit(101);
      let_in = true;
      was_alone = first_is_gone;
    } else {
      first_is_gone = true;
      first = Admission();
    }
  });
  CHECK(let_in);
  CHECK(was_alone);
}

TEST_CASE("cache_admissions: an admission moves with its owner and is given back once",
          "[fs][cache_admissions][unit]") {
  Admissions admissions(100);
  test::finish_in_time("admissions that are moved", [&] {
    auto one = admissions.admit(100);
    Admission two(std::move(one));
    one = Admission();  // an empty admission returns nothing
    Admission three;
    three = std::move(two);
    three = Admission();
    const auto next = admissions.admit(100);
  });
}

// A large request waits for the whole budget; a stream of small ones goes on meanwhile, and the
// large request is not passed by other large ones.
TEST_CASE(
    "cache_admissions: small admissions do not wait for large ones, and large ones take turns",
    "[fs][cache_admissions][race]") {
  constexpr std::uint64_t kBudget = 64'000;
  Admissions admissions(kBudget);
  auto first = admissions.admit(kBudget);
  std::vector<int> order;
  std::atomic<int> queued{0};
  std::vector<std::future<void>> large;
  for (int i = 0; i < 2; ++i) {
    large.push_back(std::async(std::launch::async, [&, i] {
      queued.store(i + 1);
      const auto whole = admissions.admit(kBudget);
      order.push_back(i);  // one at a time has all of the budget
    }));
    while (queued.load() != i + 1 ||
           admissions.waiting_large() != static_cast<std::size_t>(i + 1)) {
      std::this_thread::yield();
    }
  }
  test::finish_in_time("small admissions beside large ones", [&] {
    for (int i = 0; i < 100; ++i) const auto small = admissions.admit(1000);
  });
  first = Admission();
  for (auto& each : large) REQUIRE(each.wait_for(test::kHangs) == std::future_status::ready);
  CHECK(order == std::vector<int>{0, 1});
}

}  // namespace
}  // namespace framefs::fs::cache_admissions_test
