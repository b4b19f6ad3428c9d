#include "fs/core/threads/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <new>
#include <thread>
#include <vector>

#include "fs/core/threads/guarded.h"
#include "tests/support/catch.h"
#include "tests/support/threads.h"

namespace framefs::fs::worker_pool_test {
namespace {

// Oracle: a plain counter for each index, read without a lock after run() has returned.
TEST_CASE("worker_pool: every index is called once, whatever the threads",
          "[fs][worker_pool][race]") {
  for (const unsigned threads : {0U, 1U, 2U, 7U}) {
    WorkerPool pool(threads);
    for (const std::size_t count : {0U, 1U, 2U, 3U, 1000U}) {
      INFO(threads << " threads, " << count << " calls");
      std::vector<int> calls(count);
      pool.run(count, [&](std::size_t i) { ++calls[i]; });
      CHECK(std::ranges::all_of(calls, [](int n) { return n == 1; }));
    }
  }
}

// Oracle: the sum of calls for each caller.
TEST_CASE("worker_pool: many callers share the workers", "[fs][worker_pool][race]") {
  WorkerPool pool(2);
  constexpr std::size_t kCallers = 8;
  constexpr std::size_t kRounds = 50;
  std::vector<std::size_t> sums(kCallers);
  test::on_threads(kCallers, [&](std::size_t caller) {
    for (std::size_t round = 0; round < kRounds; ++round) {
      std::vector<std::size_t> parts(round + 1);
      pool.run(parts.size(), [&](std::size_t i) { parts[i] = i + 1; });
      for (const auto part : parts) sums[caller] += part;
    }
  });
  std::size_t expected = 0;
  for (std::size_t n = 1; n <= kRounds; ++n) expected += n * (n + 1) / 2;
  for (const auto sum : sums) CHECK(sum == expected);
}

// A caller that ran another caller's work would answer later itself.  Oracle: a thread that runs a
// call is not the caller of another unfinished run.  The pool has room for all, so that none has to
// queue.
TEST_CASE("worker_pool: a caller runs no other caller's calls while it waits for its own",
          "[fs][worker_pool][race]") {
  // More threads than this only compete for the processors.
  WorkerPool pool(8);
  constexpr std::size_t kNone = 1000;
  thread_local std::size_t calls_for = kNone;  // the caller whose run this thread is in
  std::atomic<int> strays{0};
  std::atomic<std::size_t> ran{0};
  // Some calls take longer than others, so that callers wait for calls that workers have taken.
  const auto work = [](std::size_t i) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(i % 7 * 10);
    while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
  };
  test::on_threads(6, [&](std::size_t caller) {
    calls_for = caller;
    for (int round = 0; round < 200; ++round) {
      pool.run(16, [&, caller](std::size_t i) {
        if (calls_for != kNone && calls_for != caller) strays.fetch_add(1);
        work(i);
        ran.fetch_add(1);
      });
    }
    calls_for = kNone;
  });
  CHECK(ran == 6u * 200 * 16);
  CHECK(strays == 0);
}

// Each call waits until calls of all callers run.
TEST_CASE("worker_pool: no caller waits for the calls of another one", "[fs][worker_pool][race]") {
  for (const unsigned threads : {1U, 2U}) {
    CAPTURE(threads);
    WorkerPool pool(threads);
    constexpr std::size_t kCallers = 12;
    std::latch all_run(kCallers);
    test::on_threads(kCallers, [&](std::size_t) {
      std::atomic<bool> is_first{true};
      pool.run(3, [&](std::size_t) {
        if (is_first.exchange(false)) all_run.arrive_and_wait();
      });
    });
    CHECK(all_run.try_wait());
  }
}

TEST_CASE("worker_pool: one call runs on the caller's own thread", "[fs][worker_pool][unit]") {
  WorkerPool pool(2);
  std::thread::id ran_on;
  pool.run(1, [&](std::size_t) { ran_on = std::this_thread::get_id(); });
  CHECK(ran_on == std::this_thread::get_id());
}

// Oracle: the exception arrives, no call runs any more, and the pool still works.
TEST_CASE("worker_pool: an exception of a call reaches the caller", "[fs][worker_pool][race]") {
  WorkerPool pool(2);
  for (const std::size_t count : {1U, 2U, 100U}) {
    INFO(count << " calls");
    std::atomic<int> running{0};
    bool caught = false;
    try {
      pool.run(count, [&](std::size_t i) {
        running.fetch_add(1);
        struct Leave {
          std::atomic<int>& running;
          ~Leave() { running.fetch_sub(1); }
        };
        const Leave leave{running};
        if (i == count / 2) throw std::bad_alloc();
      });
    } catch (const std::bad_alloc&) {
      caught = true;
      CHECK(running == 0);
    }
    CHECK(caught);
    std::atomic<int> calls{0};
    pool.run(10, [&](std::size_t) { calls.fetch_add(1); });
    CHECK(calls == 10);
  }
}

}  // namespace
}  // namespace framefs::fs::worker_pool_test
