#include "fs/core/threads/single_flight.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <new>
#include <optional>
#include <thread>

#include "tests/support/catch.h"
#include "tests/support/threads.h"

namespace framefs::fs::single_flight_test {
namespace {

using Flights = SingleFlight<int>;
using Make = std::function<Result<int>(const Flights::Call&)>;

// A caller of run() in a thread of its own.
class Caller {
 public:
  void start(Flights& flights, Make make) {
    thread_ = std::jthread([this, &flights, make = std::move(make)] {
      // Only a caller that waits for the call of another one is asked.
      const InterruptScope scope([this] {
        waits_ = true;
        return is_interrupted_.load();
      });
      try {
        result_ = flights.run("key", make);
      } catch (const std::bad_alloc&) {
        has_thrown_ = true;
      }
    });
  }
  void interrupt() { is_interrupted_ = true; }
  void wait_until_it_waits() const {
    REQUIRE(test::comes_true([this] { return waits_.load(); }));
  }
  // Nothing if the call has thrown.
  std::optional<Result<int>> end() {
    thread_.join();
    return has_thrown_ ? std::nullopt : std::optional(result_);
  }

 private:
  std::atomic<bool> waits_ = false;
  std::atomic<bool> is_interrupted_ = false;
  bool has_thrown_ = false;
  Result<int> result_ = 0;
  std::jthread thread_;
};

// A call that ends when it is told to.
class HeldCall {
 public:
  explicit HeldCall(std::function<Result<int>()> ending) : ending_(std::move(ending)) {}
  Make make() {
    return [this](const Flights::Call& call) {
      has_begun_ = true;
      while (!may_end_) std::this_thread::yield();
      was_outdated_ = call.is_outdated();
      return ending_();
    };
  }
  void wait_until_it_has_begun() const {
    REQUIRE(test::comes_true([this] { return has_begun_.load(); }));
  }
  void end() { may_end_ = true; }
  [[nodiscard]] bool was_outdated() const { return was_outdated_; }

 private:
  const std::function<Result<int>()> ending_;
  std::atomic<bool> has_begun_ = false;
  std::atomic<bool> may_end_ = false;
  std::atomic<bool> was_outdated_ = false;
};

struct Together {
  Flights flights;
  HeldCall first;
  Caller leader;
  std::array<Caller, 5> others;
  std::atomic<int> calls_of_others = 0;

  explicit Together(std::function<Result<int>()> ending) : first(std::move(ending)) {
    leader.start(flights, first.make());
    first.wait_until_it_has_begun();
    for (auto& other : others) {
      other.start(flights, [this](const auto&) -> Result<int> { return 100 + ++calls_of_others; });
    }
    for (auto& other : others) other.wait_until_it_waits();
  }
};

TEST_CASE("single_flight: callers of the same key share one call", "[fs][single_flight][race]") {
  Together together([] { return 7; });
  together.first.end();
  CHECK(together.leader.end().value() == 7);
  for (auto& other : together.others) CHECK(other.end().value() == 7);
  CHECK(together.calls_of_others == 0);
  // Nothing is under way any more.
  CHECK(together.flights.run("key", [](const auto&) -> Result<int> { return 8; }) == 8);
}

TEST_CASE("single_flight: callers of other keys do not wait", "[fs][single_flight][race]") {
  Together together([] { return 7; });
  CHECK(together.flights.run("other", [](const auto&) -> Result<int> { return 8; }) == 8);
  together.first.end();
}

TEST_CASE("single_flight: an error is the result of all callers", "[fs][single_flight][race]") {
  Together together([]() -> Result<int> { return system_error_of(EIO, "test"); });
  together.first.end();
  for (auto& other : together.others) CHECK(other.end().value().error().sys == EIO);
  CHECK(together.leader.end().value().error().sys == EIO);
}

TEST_CASE("single_flight: a call that is interrupted, or throws, is made again by another caller",
          "[fs][single_flight][race]") {
  const bool throws = GENERATE(false, true);
  Together together([=]() -> Result<int> {
    if (throws) throw std::bad_alloc();
    return system_error_of(EINTR, "test");
  });
  together.first.end();
  for (auto& other : together.others) CHECK(other.end().value().value() > 100);
  CHECK(together.calls_of_others >= 1);
  const auto led = together.leader.end();
  CHECK(led.has_value() != throws);
  if (led) CHECK(led->error().sys == EINTR);
}

TEST_CASE("single_flight: a caller that is interrupted does not wait",
          "[fs][single_flight][race]") {
  Together together([] { return 7; });
  together.others[0].interrupt();
  CHECK(together.others[0].end().value().error().sys == EINTR);
  together.first.end();
  CHECK(together.others[1].end().value() == 7);
}

TEST_CASE("single_flight: nobody joins a call after leave()", "[fs][single_flight][race]") {
  Together together([] { return 7; });
  together.flights.leave("key");
  HeldCall second([] { return 8; });
  Caller later;
  later.start(together.flights, second.make());
  second.wait_until_it_has_begun();
  // The end of the first call leaves the second one alone.
  together.first.end();
  CHECK(together.leader.end().value() == 7);
  CHECK(together.first.was_outdated());
  Caller last;
  last.start(together.flights, [](const auto&) -> Result<int> { return 9; });
  last.wait_until_it_waits();
  second.end();
  CHECK(later.end().value() == 8);
  CHECK(last.end().value() == 8);
  CHECK_FALSE(second.was_outdated());
}

}  // namespace
}  // namespace framefs::fs::single_flight_test
