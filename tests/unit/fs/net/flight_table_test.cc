#include "fs/net/cache/flight_table.h"

#include <array>

#include "tests/support/catch.h"

namespace framefs::net::flight_table_test {
namespace {

using Unwanted = FlightTable::Unwanted;

ContentKey key_of(std::uint64_t number) { return {.high = 0, .low = number}; }

TEST_CASE("flight_table: a flight is found by each of its bytes", "[net][flight_table][unit]") {
  FlightTable table;
  const auto flight = table.add(key_of(1), {100, 50}, Priority::demand);
  CHECK(table.find(key_of(1), 99) == nullptr);
  CHECK(table.find(key_of(1), 100) == flight);
  CHECK(table.find(key_of(1), 149) == flight);
  CHECK(table.find(key_of(1), 150) == nullptr);
  CHECK(table.find(key_of(2), 100) == nullptr);
  CHECK(table.next_begin(key_of(1), 99) == 100);
  CHECK_FALSE(table.next_begin(key_of(1), 100));
  CHECK_FALSE(table.next_begin(key_of(2), 0));
  CHECK(table.bytes() == 50);
}

TEST_CASE("flight_table: a flight that has landed is removed once", "[net][flight_table][unit]") {
  FlightTable table;
  const auto landed = table.add(key_of(1), {0, 10}, Priority::demand);
  table.remove(key_of(1), landed);
  CHECK(table.bytes() == 0);
  const auto again = table.add(key_of(1), {0, 20}, Priority::demand);
  table.remove(key_of(1), landed);
  CHECK(table.find(key_of(1), 0) == again);
  CHECK(table.bytes() == 20);
}

TEST_CASE("flight_table: the last waiter of a flight that was started cancels it",
          "[net][flight_table][unit]") {
  FlightTable table;
  const auto started = table.add(key_of(1), {0, 10}, Priority::demand);
  const auto starting = table.add(key_of(1), {10, 10}, Priority::demand);
  started->id = 7;
  started->waiters = 2;
  starting->waiters = 1;
  const std::array both{started, starting};
  CHECK(table.leave(key_of(1), both).empty());
  CHECK(table.bytes() == 20);
  CHECK(table.leave(key_of(1), std::array{started}) == Unwanted{7});
  CHECK(table.find(key_of(1), 0) == nullptr);
  CHECK(table.find(key_of(1), 10) == starting);
  CHECK(table.bytes() == 10);
}

TEST_CASE("flight_table: flights of a closed file stay while somebody waits for them",
          "[net][flight_table][unit]") {
  FlightTable table;
  const auto waited_for = table.add(key_of(1), {0, 10}, Priority::demand);
  const auto ahead = table.add(key_of(1), {10, 10}, Priority::prefetch);
  const auto starting = table.add(key_of(1), {20, 10}, Priority::prefetch);
  const auto other = table.add(key_of(2), {10, 10}, Priority::prefetch);
  waited_for->id = 7;
  waited_for->waiters = 1;
  ahead->id = 8;
  other->id = 9;
  CHECK(table.abandon(key_of(1)) == Unwanted{8});
  CHECK(table.find(key_of(1), 0) == waited_for);
  CHECK(table.find(key_of(1), 10) == nullptr);
  CHECK(table.find(key_of(1), 20) == starting);
  CHECK(table.find(key_of(2), 10) == other);
  CHECK(table.bytes() == 30);
  CHECK(table.abandon(key_of(3)).empty());
}

}  // namespace
}  // namespace framefs::net::flight_table_test
