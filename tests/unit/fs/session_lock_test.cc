#include "fs/write/ownership/session_lock.h"

#include <atomic>
#include <thread>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/threads.h"

namespace framefs::fs::session_lock_test {
namespace {

TEST_CASE("session_lock: threads get it in the order in which they asked",
          "[fs][session_lock][race]") {
  SessionLock lock;
  std::vector<int> order;  // changed under the lock
  std::vector<std::jthread> threads;
  {
    auto hold = lock.take();
    CHECK_FALSE(lock.is_wanted());
    CHECK_FALSE(lock.try_take());
    std::atomic<int> begun{0};
    for (int i = 0; i < 5; ++i) {
      threads.emplace_back([&, i] {
        // over() is asked for the first time when the thread is in the queue.
        bool is_counted = false;
        const auto taken = lock.take_unless([&] {
          if (!is_counted) ++begun;
          is_counted = true;
          return false;
        });
        order.push_back(i);
      });
      REQUIRE(test::comes_true([&] { return begun == i + 1; }));
    }
    CHECK(lock.is_wanted());
  }
  threads.clear();  // joins
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
  CHECK_FALSE(lock.is_wanted());
  CHECK(lock.try_take());
}

TEST_CASE("session_lock: a thread that gives up leaves the queue", "[fs][session_lock][race]") {
  SessionLock lock;
  auto hold = lock.take();
  bool is_taken = true;
  test::finish_in_time(
      "take_unless", [&] { is_taken = static_cast<bool>(lock.take_unless([] { return true; })); });
  CHECK_FALSE(is_taken);
  CHECK_FALSE(lock.is_wanted());
  hold.release();
  CHECK(lock.try_take());
}

}  // namespace
}  // namespace framefs::fs::session_lock_test
