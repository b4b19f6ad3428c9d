#include "fs/core/threads/task_threads.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <iterator>
#include <latch>
#include <thread>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/threads.h"

namespace framefs::fs::task_threads_test {
namespace {

TEST_CASE("task_threads: as many tasks as the limit run at a time, the others wait",
          "[fs][task_threads][race]") {
  constexpr std::size_t kLimit = 3;
  std::latch all_run(kLimit);
  std::latch go(1);
  std::atomic<int> done{0};
  TaskThreads threads(kLimit);
  for (std::size_t i = 0; i < kLimit; ++i) {
    REQUIRE(threads.add([&] {
      all_run.count_down();
      go.wait();
      ++done;
    }));
  }
  test::finish_in_time("tasks", [&] { all_run.wait(); });
  REQUIRE(threads.add([&] { ++done; }));
  CHECK(done == 0);
  go.count_down();
  CHECK(test::comes_true([&] { return done == kLimit + 1; }));
}

TEST_CASE("task_threads: the end waits for running tasks and drops the others",
          "[fs][task_threads][race]") {
  std::latch began(1);
  std::latch go(1);
  std::atomic<bool> is_first_done{false};
  std::atomic<bool> was_second_begun{false};
  TaskThreads threads(1);
  REQUIRE(threads.add([&] {
    began.count_down();
    go.wait();
    is_first_done = true;
  }));
  REQUIRE(threads.add([&] { was_second_begun = true; }));
  began.wait();
  std::jthread ending([&] { threads.stop(); });
  CHECK(test::comes_true([&] { return !threads.add([] {}); }));
  go.count_down();
  ending.join();
  CHECK(is_first_done);
  CHECK_FALSE(was_second_begun);
}

// The threads of this process.
std::size_t thread_count() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(threads), end(threads)));
}

TEST_CASE("task_threads: threads without tasks end, and start again", "[fs][task_threads][race]") {
  const auto before = thread_count();
  std::deque<std::latch> rounds;  // outlives the threads
  TaskThreads threads(3, TaskThreads::Priority::normal, std::chrono::milliseconds(1));
  for (int round = 0; round < 3; ++round) {
    auto& all_run = rounds.emplace_back(3);
    for (int i = 0; i < 3; ++i) REQUIRE(threads.add([&] { all_run.arrive_and_wait(); }));
    test::finish_in_time("tasks", [&] { all_run.wait(); });
    CHECK(test::comes_true([&] { return thread_count() == before; }));
  }
}

TEST_CASE("task_threads: a task waits for its time, and a thread waits with it",
          "[fs][task_threads][race]") {
  const auto before = thread_count();
  TaskThreads threads(2, TaskThreads::Priority::normal, std::chrono::milliseconds(1));
  const auto time = TaskThreads::Clock::now() + std::chrono::milliseconds(100);
  std::atomic<bool> is_early{true};
  std::atomic<int> done{0};
  std::atomic<std::size_t> found{0};
  const auto note = [&] {
    found = thread_count();
    is_early = TaskThreads::Clock::now() < time;
    ++done;
  };
  REQUIRE(threads.add(note, time));
  REQUIRE(threads.add([&] { ++done; }));
  CHECK(test::comes_true([&] { return done >= 1; }));
  CHECK(test::comes_true([&] { return done == 2; }));
  CHECK_FALSE(is_early);
  CHECK(found >= before + 1);
  // A task whose time is far away does not hold off the end.
  std::atomic<bool> was_begun{false};
  REQUIRE(threads.add([&] { was_begun = true; }, time + std::chrono::hours(1)));
  CHECK(threads.waiting() == 1);
  threads.stop();
  CHECK(threads.waiting() == 0);
  CHECK_FALSE(was_begun);
}

TEST_CASE("task_threads: tasks run in the order of their times", "[fs][task_threads][race]") {
  TaskThreads threads(1);
  std::latch go(1);
  REQUIRE(threads.add([&] { go.wait(); }));
  Guarded<std::vector<int>> order;
  const auto note = [&](int number) {
    return [&order, number] { order.with([&](auto& seen) { seen.push_back(number); }); };
  };
  const auto now = TaskThreads::Clock::now();
  REQUIRE(threads.add(note(3), now + std::chrono::milliseconds(2)));
  REQUIRE(threads.add(note(1), now));
  REQUIRE(threads.add(note(2), now));
  go.count_down();
  CHECK(test::comes_true([&] { return order.with([](auto& seen) { return seen.size() == 3; }); }));
  CHECK(order.with([](auto& seen) { return seen; }) == std::vector{1, 2, 3});
}

}  // namespace
}  // namespace framefs::fs::task_threads_test
