#include "fs/net/http/body_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/support/catch.h"

namespace framefs::net::body_pool_test {
namespace {

constexpr std::size_t kMiB = 1u << 20;

// A body that a reader has, and the address of its memory.
struct Shared {
  std::shared_ptr<const BodyPool::Body> body;
  std::uintptr_t memory;
};

Shared shared_of(BodyPool& pool, std::size_t size) {
  auto body = pool.take(size);
  CHECK(body.empty());
  CHECK(body.capacity() >= size);
  body.resize(size);
  // The address is compared after the memory may have been freed, so it is kept as a number.
  const auto memory = reinterpret_cast<std::uintptr_t>(body.data());
  return {pool.share(std::move(body)), memory};
}

TEST_CASE("body_pool: a later body gets the memory of one that was dropped",
          "[net][bodies][unit]") {
  BodyPool pool;
  auto first = shared_of(pool, kMiB);
  auto second = shared_of(pool, kMiB);
  CHECK(second.memory != first.memory);
  auto reader = first.body;
  first.body.reset();
  CHECK(reader->size() == kMiB);
  CHECK(shared_of(pool, kMiB).memory != first.memory);
  reader.reset();
  CHECK(shared_of(pool, kMiB - 1000).memory == first.memory);
}

// The pages of a body that the kernel has provided already, and all of its pages.
struct Pages {
  std::size_t present = 0;
  std::size_t all = 0;
};

Pages pages_of(BodyPool::Body& body) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* begin = body.data();
  auto left = body.capacity();
  REQUIRE(std::align(page, page, begin, left) != nullptr);
  Pages pages{.all = left / page};
  std::vector<unsigned char> known(pages.all);
  REQUIRE(::mincore(begin, pages.all * page, known.data()) == 0);
  for (const auto flags : known) pages.present += flags & 1U;
  return pages;
}

TEST_CASE("body_pool: a range gets its pages at once, an announced size no more than a range has",
          "[net][bodies][unit]") {
  BodyPool pool;
  for (const auto size : {kMiB, 8 * kMiB}) {
    auto body = pool.take(size);
    const auto pages = pages_of(body);
    CHECK(pages.present == pages.all);
  }
  auto body = pool.take(256 * kMiB);
  const auto pages = pages_of(body);
  CHECK(pages.present < pages.all / 100);
}

TEST_CASE("body_pool: a body outlives its pool", "[net][bodies][unit]") {
  std::shared_ptr<const BodyPool::Body> body;
  {
    BodyPool pool;
    body = shared_of(pool, kMiB).body;
  }
  CHECK(body->size() == kMiB);
}

TEST_CASE("body_pool: a small body does not get much memory", "[net][bodies][unit]") {
  BodyPool pool;
  const auto large = shared_of(pool, kMiB).memory;
  auto body = pool.take(kMiB / 4);
  CHECK(body.capacity() < kMiB);
  CHECK(shared_of(pool, kMiB / 2).memory == large);
}

TEST_CASE("body_pool: the memory that it keeps has a limit", "[net][bodies][unit]") {
  BodyPool pool;
  std::vector<Shared> bodies;
  for (std::size_t i = 0; i <= BodyPool::kIdleBytes / kMiB; ++i) {
    bodies.push_back(shared_of(pool, kMiB));
  }
  const auto latest = bodies.back().memory;
  for (auto& one : bodies) one.body.reset();
  CHECK(pool.idle_bytes() == BodyPool::kIdleBytes);
  CHECK(shared_of(pool, kMiB).memory == latest);
  shared_of(pool, BodyPool::kIdleBytes + 1);
  shared_of(pool, 1000);
  CHECK(pool.idle_bytes() == BodyPool::kIdleBytes);
}

}  // namespace
}  // namespace framefs::net::body_pool_test
