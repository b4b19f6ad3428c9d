#include "fs/read/buffer_pool.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/random_seed.h"
#include "tests/support/threads.h"

namespace framefs::fs::buffer_pool_test {
namespace {

TEST_CASE("buffer_pool: memory that came back is given out again for the same size",
          "[fs][buffer_pool][unit]") {
  BufferPool pool(1000);
  auto first = pool.take(100);
  auto second = pool.take(100);
  const auto* const at = first.get();
  const auto* const other = second.get();
  pool.give_back(std::move(first), 100);
  pool.give_back(std::move(second), 100);
  const auto another_size = pool.take(101);
  CHECK(another_size.get() != at);
  // The buffer returned last is the likeliest to be in the CPU's caches.
  CHECK(pool.take(100).get() == other);
  CHECK(pool.take(100).get() == at);
}

TEST_CASE("buffer_pool: bytes give their memory back when they go", "[fs][buffer_pool][unit]") {
  BufferPool pool(1000);
  const std::byte* at = nullptr;
  {
    Bytes bytes(pool, 100);
    CHECK(bytes.view().size() == 100);
    CHECK(bytes.writable().data() == bytes.view().data());
    at = bytes.view().data();
  }
  CHECK(Bytes(pool, 100).view().data() == at);
}

// Oracle: the pool returns the buffers that it had room for; the oldest ones were freed.
TEST_CASE("buffer_pool: no more is kept than was allowed", "[fs][buffer_pool][unit]") {
  BufferPool pool(250);
  std::vector<std::unique_ptr<std::byte[]>> buffers;
  std::vector<const std::byte*> places;
  for (int i = 0; i < 3; ++i) buffers.push_back(pool.take(100));
  for (auto& buffer : buffers) {
    places.push_back(buffer.get());
    pool.give_back(std::move(buffer), 100);
  }
  const auto one = pool.take(100);
  const auto two = pool.take(100);
  CHECK(one.get() == places[2]);
  CHECK(two.get() == places[1]);

  BufferPool none(0);
  none.give_back(none.take(1), 1);
  BufferPool small(10);
  auto large = small.take(11);
  large[10] = std::byte{1};
  small.give_back(std::move(large), 11);
  CHECK(small.take(11) != nullptr);
}

// Oracle: no thread finds bytes of another thread in its buffer.  Sanitizers check the rest.
TEST_CASE("buffer_pool: no two threads are given the same memory", "[fs][buffer_pool][race]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  BufferPool pool(5000);
  std::vector<int> wrong(8);
  test::on_threads(wrong.size(), [&](std::size_t thread) {
    std::mt19937 random(seed + static_cast<std::uint32_t>(thread));
    const auto mark = static_cast<std::byte>(thread + 1);
    std::vector<std::unique_ptr<Bytes>> held;
    for (int round = 0; round < 2000; ++round) {
      held.push_back(std::make_unique<Bytes>(pool, 100 * (random() % 4 + 1)));
      std::ranges::fill(held.back()->writable(), mark);
      if (held.size() < 8) continue;
      const auto at = held.begin() + static_cast<std::ptrdiff_t>(random() % held.size());
      if (std::ranges::any_of((*at)->view(), [&](std::byte b) { return b != mark; }))
        ++wrong[thread];
      held.erase(at);
    }
  });
  CHECK(wrong == std::vector<int>(8));
}

}  // namespace
}  // namespace framefs::fs::buffer_pool_test
