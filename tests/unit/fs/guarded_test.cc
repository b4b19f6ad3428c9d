#include "fs/core/threads/guarded.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/threads.h"

namespace framefs::fs::guarded_test {
namespace {

TEST_CASE("guarded: a value is made from arguments and read and changed in with()",
          "[fs][guarded][unit]") {
  Guarded<int> zero;
  CHECK(zero.with([](int& value) { return value; }) == 0);
  Guarded<std::string> text(std::in_place, std::size_t{3}, 'x');
  const auto size = text.with([](std::string& value) {
    value += "y";
    return value.size();
  });
  CHECK(size == 4);
  const auto& read_only = text;
  CHECK(read_only.with([](const std::string& value) { return value; }) == "xxxy");
}

// Oracle: no increment of a plain integer is lost.
TEST_CASE("guarded: bodies exclude each other when many threads call", "[fs][guarded][race]") {
  constexpr int kTimes = 2000;
  Guarded<int> sum;
  test::on_threads(8, [&](std::size_t) {
    for (int i = 0; i < kTimes; ++i) sum.with([](int& value) { ++value; });
  });
  CHECK(sum.with([](int& value) { return value; }) == 8 * kTimes);
}

// Oracle: each waiting thread runs its body when its condition holds, and none stays asleep.
TEST_CASE("guarded: wait() goes on when another thread made the condition true",
          "[fs][guarded][race]") {
  Guarded<int> stage;
  std::vector<int> seen(8);
  test::on_threads(9, [&](std::size_t i) {
    if (i == 8) {
      for (int step = 1; step <= 8; ++step) stage.with_and_wake([&](int& value) { value = step; });
      return;
    }
    const int mine = static_cast<int>(i) + 1;
    seen[i] = stage.wait([&](const int& value) { return value >= mine; },
                         [](int& value) { return value; });
  });
  for (int i = 0; i < 8; ++i) {
    INFO("waiter " << i);
    CHECK(seen[static_cast<std::size_t>(i)] > i);
  }
}

TEST_CASE("guarded: a thread that changes the value without waking can wake later",
          "[fs][guarded][race]") {
  Guarded<int> stage;
  test::on_threads(2, [&](std::size_t i) {
    if (i == 1) {
      for (int step = 1; step <= 8; ++step) stage.with([&](int& value) { value = step; });
      stage.wake();
      return;
    }
    CHECK(stage.wait([](const int& value) { return value == 8; },
                     [](int& value) { return value; }) == 8);
  });
}

TEST_CASE("guarded: the lock is free and the waiters are woken when a body throws",
          "[fs][guarded][race]") {
  Guarded<bool> flag;
  bool went_on = false;
  bool caught = false;
  test::on_threads(2, [&](std::size_t i) {
    if (i == 0) {
      went_on =
          flag.wait([](const bool& value) { return value; }, [](bool& value) { return value; });
      return;
    }
    try {
      flag.with_and_wake([](bool& value) {
        value = true;
        throw std::runtime_error("out of a body");
      });
    } catch (const std::runtime_error&) {
      caught = true;
    }
  });
  CHECK(caught);
  CHECK(went_on);
  CHECK(flag.with([](bool& value) { return value; }));
}

TEST_CASE("guarded: results that can only be moved come out", "[fs][guarded][unit]") {
  Guarded<std::unique_ptr<int>> holder(std::in_place, std::make_unique<int>(7));
  const auto taken = holder.with([](auto& value) { return std::move(value); });
  REQUIRE(taken != nullptr);
  CHECK(*taken == 7);
  CHECK(holder.with([](auto& value) { return value == nullptr; }));
}

// Oracle: at each moment, a reader is inside.  Each waits until another one has entered, and leaves
// without that only after a while.  A lock that prefers readers therefore lets no writer in.
TEST_CASE("shared: a writer gets its turn among readers who overlap all the time",
          "[fs][guarded][race]") {
  constexpr std::chrono::milliseconds kAWhile{20};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto is_late = [&] { return std::chrono::steady_clock::now() > deadline; };
  Shared<int> value(std::in_place, 0);
  std::atomic<std::uint64_t> entered = 0;
  std::atomic<bool> has_written = false;
  test::on_threads(4, [&](std::size_t i) {
    if (i == 0) {
      while (entered < 10 && !is_late()) std::this_thread::yield();
      value.write([&](int& number) {
        number = 1;
        has_written = !is_late();
      });
      return;
    }
    while (!has_written && !is_late()) {
      value.read([&](const int&) {
        const auto mine = ++entered;
        const auto end = std::chrono::steady_clock::now() + kAWhile;
        while (entered == mine && std::chrono::steady_clock::now() < end) {
          std::this_thread::yield();
        }
      });
    }
  });
  CHECK(has_written);
}

TEST_CASE("shared: try_write() writes only while no thread reads", "[fs][guarded][unit]") {
  Shared<int> value(std::in_place, 1);
  const auto increase = [](int& number) { return ++number; };
  std::optional<int> written;
  value.read([&](const int&) { std::jthread other([&] { written = value.try_write(increase); }); });
  CHECK_FALSE(written);
  CHECK(value.try_write(increase) == 2);
  CHECK(value.read([](const int& number) { return number; }) == 2);
}

}  // namespace
}  // namespace framefs::fs::guarded_test
