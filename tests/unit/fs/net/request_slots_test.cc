#include "fs/net/http/request_slots.h"

#include <chrono>
#include <cstddef>
#include <vector>

#include "tests/support/catch.h"

namespace framefs::net::request_slots_test {
namespace {

constexpr std::size_t kFirst = ConcurrencyLimit::kFirst;
constexpr std::size_t kPrefetches = kFirst * 3 / 4;

// Takes all places that are free for this priority.
std::vector<RequestSlots::Slot> fill(RequestSlots& slots, Priority priority) {
  std::vector<RequestSlots::Slot> taken;
  while (slots.has_free(priority)) taken.push_back(slots.take(priority));
  return taken;
}

TEST_CASE("request_slots: prefetches have a part of the places", "[net][request_slots][unit]") {
  RequestSlots slots;
  CHECK(fill(slots, Priority::prefetch).size() == kPrefetches);
  CHECK(fill(slots, Priority::demand).size() == kFirst - kPrefetches);
}

TEST_CASE("request_slots: where readers have all places, there is none for a prefetch",
          "[net][request_slots][unit]") {
  RequestSlots slots;
  const auto taken = fill(slots, Priority::demand);
  CHECK(taken.size() == kFirst);
  CHECK_FALSE(slots.has_free(Priority::prefetch));
  slots.give_back(taken.front());
  CHECK(slots.has_free(Priority::demand));
  CHECK(slots.has_free(Priority::prefetch));
}

TEST_CASE("request_slots: a request counts under the priority with which it was sent",
          "[net][request_slots][unit]") {
  RequestSlots slots;
  const auto prefetches = fill(slots, Priority::prefetch);
  const auto demand = slots.take(Priority::demand);
  slots.give_back(demand);
  CHECK_FALSE(slots.has_free(Priority::prefetch));
  slots.give_back(prefetches.front());
  CHECK(slots.has_free(Priority::prefetch));
}

TEST_CASE("request_slots: a stalled request leaves its place, and gives none back",
          "[net][request_slots][unit]") {
  for (const auto priority : {Priority::demand, Priority::prefetch}) {
    RequestSlots slots;
    auto taken = fill(slots, priority);
    slots.note_stall(taken.front());
    REQUIRE(slots.has_free(priority));
    const auto other = slots.take(priority);
    CHECK_FALSE(slots.has_free(priority));
    slots.give_back(taken.front());
    CHECK_FALSE(slots.has_free(priority));
    slots.give_back(other);
    CHECK(slots.has_free(priority));
  }
}

TEST_CASE("request_slots: a bounded number of stalled requests leave their places",
          "[net][request_slots][unit]") {
  RequestSlots slots;
  std::vector<RequestSlots::Slot> stalled;
  for (std::size_t i = 0; i < RequestSlots::kMaxStalled; ++i) {
    stalled.push_back(slots.take(Priority::demand));
    slots.note_stall(stalled.back());
  }
  auto taken = fill(slots, Priority::demand);
  CHECK(taken.size() == kFirst);
  slots.note_stall(taken.front());
  CHECK_FALSE(taken.front().has_stalled);
  CHECK_FALSE(slots.has_free(Priority::demand));
  // When one of them has ended, another one may leave.
  slots.give_back(stalled.front());
  slots.note_stall(taken.front());
  CHECK(slots.has_free(Priority::demand));
}

TEST_CASE("request_slots: a small share of requests is sent twice", "[net][request_slots][unit]") {
  RequestSlots slots;
  const auto hedges = [&] {
    int number = 0;
    while (slots.may_hedge()) ++number;
    return number;
  };
  CHECK(hedges() == 2);
  for (int i = 0; i < 19; ++i) slots.succeeded();
  CHECK(hedges() == 0);
  for (int i = 0; i < 2; ++i) slots.succeeded();
  CHECK(hedges() == 1);
  for (int i = 0; i < 10'000; ++i) slots.succeeded();
  CHECK(hedges() == 8);
}

TEST_CASE("request_slots: the server sets the number of places", "[net][request_slots][unit]") {
  using Time = RequestSlots::Time;
  RequestSlots slots;
  slots.succeeded();
  CHECK(fill(slots, Priority::demand).size() == kFirst + 1);
  RequestSlots fewer;
  fewer.slowed_down(Time(std::chrono::seconds(1)), Time(std::chrono::seconds(2)));
  CHECK(fewer.limit() == kFirst / 2);
  CHECK(fill(fewer, Priority::demand).size() == kFirst / 2);
}

}  // namespace
}  // namespace framefs::net::request_slots_test
