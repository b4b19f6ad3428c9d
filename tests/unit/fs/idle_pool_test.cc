#include "fs/core/resources/idle_pool.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tests/support/catch.h"
#include "tests/support/threads.h"

namespace framefs::fs::idle_pool_test {
namespace {

TEST_CASE("idle_pool: returned objects are used again, the latest first", "[fs][idle_pool][unit]") {
  IdlePool<int> pool;
  int made = 0;
  const auto make = [&] { return std::make_unique<int>(++made); };
  {
    const auto one = pool.take(make);
    CHECK(*one == 1);
    const auto two = pool.take(make);
    CHECK(*two == 2);  // the first is in use
  }
  // The second was returned first.
  const auto again = pool.take(make);
  CHECK(*again == 1);
  CHECK(*pool.take(make) == 2);
  CHECK(*pool.take(make) == 2);
  CHECK(made == 2);
}

TEST_CASE("idle_pool: no more is kept than was said", "[fs][idle_pool][unit]") {
  struct Buffer {
    std::uint64_t bytes = 0;
    [[nodiscard]] std::uint64_t memory_bytes() const { return bytes; }
  };
  constexpr KeptIdle kKept{.max_bytes = 100, .max_count = 2};
  IdlePool<Buffer, kKept> pool;
  {
    const auto one = pool.take();
    const auto two = pool.take();
    const auto three = pool.take();
    one->bytes = 1;
    two->bytes = 101;
    three->bytes = 100;
  }
  CHECK(pool.take()->bytes == 1);
  const auto first = pool.take();
  const auto second = pool.take();
  const auto third = pool.take();
  CHECK(first->bytes == 1);
  CHECK(second->bytes == 100);
  CHECK(third->bytes == 0);
}

TEST_CASE("idle_pool: no two threads have the same object", "[fs][idle_pool][race]") {
  struct Counter {
    std::atomic<int> users{0};
  };
  IdlePool<Counter> pool;
  constexpr std::size_t kThreads = 4;
  std::atomic<int> made{0};
  std::atomic<int> shared{0};
  test::on_threads(kThreads, [&](std::size_t) {
    for (int i = 0; i < 2000; ++i) {
      const auto lease = pool.take([&] {
        ++made;
        return std::make_unique<Counter>();
      });
      if (lease->users.fetch_add(1) != 0) ++shared;
      lease->users.fetch_sub(1);
    }
  });
  CHECK(shared == 0);
  CHECK(made <= static_cast<int>(kThreads));
}

}  // namespace
}  // namespace framefs::fs::idle_pool_test
