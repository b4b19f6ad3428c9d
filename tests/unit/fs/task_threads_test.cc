#include "fs/core/task_threads.h"

#include <atomic>
#include <latch>

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

}  // namespace
}  // namespace framefs::fs::task_threads_test
