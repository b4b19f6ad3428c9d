#include "fs/read/decode_cache.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <future>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "codec/core/work_budget.h"
#include "tests/support/catch.h"
#include "tests/support/random_seed.h"
#include "tests/support/threads.h"

namespace framefs::fs::decode_cache_test {
namespace {

using codec::Errc;

constexpr std::uint64_t kOverhead = DecodeCache::kOverheadBytes;
constexpr std::uint64_t kMuch = 1u << 30;  // a budget that is never reached
constexpr Error kDamaged{.kind = Errc::bad_field, .field = "cbytes", .at = 12};

struct Number {
  explicit Number(std::uint64_t n) : value(n) {}
  std::uint64_t value;
  [[nodiscard]] std::uint64_t memory_bytes() const { return sizeof(*this); }
};
using NumberPtr = std::shared_ptr<const Number>;

CacheKey key_of(std::uint64_t chunk) { return {.content = {1}, .chunk = chunk}; }

// Adds a value of `bytes` if `key` has none.  Returns true if it had one.
bool touch(DecodeCache& cache, std::uint64_t chunk, std::uint64_t bytes) {
  auto claim = cache.claim(key_of(chunk), bytes);
  if (claim.ours) claim.ours->publish(std::make_shared<Number>(chunk), bytes);
  return claim.ready != nullptr;
}

// Whether the cache has the value.  A missing value is still missing afterwards.
bool has(DecodeCache& cache, std::uint64_t chunk) {
  auto claim = cache.claim(key_of(chunk), 0);
  if (claim.ours) claim.ours->fail(kDamaged);
  return claim.ready != nullptr;
}

TEST_CASE("decode_cache: a thread can wait for a value without asking for it",
          "[fs][decode_cache][race]") {
  DecodeCache cache(kMuch);
  cache.wait_for(key_of(1));  // neither there nor being made
  auto claim = cache.claim(key_of(1), 100);
  REQUIRE(claim.ours);
  std::atomic<bool> is_published{false};
  bool was_published = false;
  std::thread waiting([&] {
    cache.wait_for(key_of(1));
    was_published = is_published;
  });
  is_published = true;
  claim.ours->publish(std::make_shared<Number>(1), 100);
  waiting.join();
  CHECK(was_published);
  cache.wait_for(key_of(1));  // there
  CHECK(has(cache, 1));
}

// Oracle: the number of calls of make, and that all results are the same object.
TEST_CASE("decode_cache: a value is made once when many threads ask", "[fs][decode_cache][race]") {
  constexpr std::size_t kThreads = 16;
  DecodeCache cache(kMuch);
  for (std::uint64_t round = 0; round < 30; ++round) {
    std::atomic<int> makes{0};
    std::atomic<std::size_t> asking{0};
    std::vector<NumberPtr> results(kThreads);
    test::on_threads(kThreads, [&](std::size_t i) {
      asking.fetch_add(1);
      const auto got = cache.get<Number>(key_of(round), [&]() -> Result<NumberPtr> {
        makes.fetch_add(1);
        // Most other threads ask for the value while it is being made.
        test::comes_true([&] { return asking == kThreads; });
        return std::make_shared<const Number>(round);
      });
      if (got) results[i] = *got;
    });
    CHECK(makes == 1);
    REQUIRE(results[0] != nullptr);
    CHECK(results[0]->value == round);
    for (const auto& result : results) CHECK(result == results[0]);
  }
}

TEST_CASE("decode_cache: hits, misses and made bytes are counted", "[fs][decode_cache][unit]") {
  DecodeCache cache(kMuch);
  CHECK_FALSE(touch(cache, 1, 100));
  CHECK_FALSE(touch(cache, 2, 50));
  CHECK(touch(cache, 1, 100));
  const auto counts = cache.counts();
  CHECK(counts.hits == 1);
  CHECK(counts.misses == 2);
  CHECK(counts.made_bytes == 150);
}

TEST_CASE("decode_cache: keys that differ in one part are different", "[fs][decode_cache][unit]") {
  DecodeCache cache(kMuch);
  const std::vector<CacheKey> keys = {
      {.content = {1}, .chunk = 1, .block = 1, .kind = CacheKind::block},
      {.content = {2}, .chunk = 1, .block = 1, .kind = CacheKind::block},
      {.content = {1}, .chunk = 2, .block = 1, .kind = CacheKind::block},
      {.content = {1}, .chunk = 1, .block = 2, .kind = CacheKind::block},
      {.content = {1}, .chunk = 1, .block = 1, .kind = CacheKind::chunk},
      {.content = {1}, .chunk = 1, .block = 1, .kind = CacheKind::index_window},
      {.content = {1}, .chunk = 1, .block = 1, .kind = CacheKind::chunk_offsets}};
  for (std::uint64_t pass = 0; pass < 2; ++pass) {
    for (std::uint64_t i = 0; i < keys.size(); ++i) {
      const auto got = cache.get<Number>(keys[i], [&]() -> Result<NumberPtr> {
        return std::make_shared<const Number>(pass * 100 + i);
      });
      REQUIRE(got);
      CHECK((*got)->value == i);  // the second pass finds the values of the first
    }
  }
}

TEST_CASE("decode_cache: waiting threads get the failure, and it is not kept",
          "[fs][decode_cache][race]") {
  constexpr std::size_t kWaiters = 16;
  DecodeCache cache(kMuch);
  auto claim = cache.claim(key_of(1), 100);
  REQUIRE(claim.ours);
  std::atomic<std::size_t> found{0};
  std::vector<Errc> kinds(kWaiters, Errc::internal);
  test::on_threads(kWaiters + 1, [&](std::size_t i) {
    if (i == kWaiters) {
      test::comes_true([&] { return found == kWaiters; });
      claim.ours->fail(kDamaged);
      return;
    }
    const auto waiter = cache.claim(key_of(1), 100);
    found.fetch_add(1);
    if (!waiter.flight) return;
    const auto landed = waiter.flight->wait();
    if (!landed) kinds[i] = landed.error().kind;
  });
  CHECK(std::ranges::all_of(kinds, [](Errc kind) { return kind == Errc::bad_field; }));
  CHECK(cache.held_bytes() == 0);
  CHECK_FALSE(touch(cache, 1, 100));  // made again
  CHECK(touch(cache, 1, 100));
}

TEST_CASE("decode_cache: waiting threads get the published value", "[fs][decode_cache][unit]") {
  DecodeCache cache(kMuch);
  auto ours = cache.claim(key_of(1), 100);
  const auto waiter = cache.claim(key_of(1), 100);
  REQUIRE(ours.ours);
  REQUIRE(waiter.flight);
  CHECK_FALSE(waiter.ours);
  const auto value = std::make_shared<const Number>(7);
  ours.ours->publish(value, 100);
  const auto landed = waiter.flight->wait();
  REQUIRE(landed);
  CHECK(*landed == value);
  CHECK(cache.claim(key_of(1), 100).ready == value);
}

TEST_CASE("decode_cache: a ticket that is dropped fails with ENOMEM", "[fs][decode_cache][unit]") {
  DecodeCache cache(kMuch);
  std::shared_ptr<DecodeCache::Flight> flight;
  const auto make = [&]() -> Result<NumberPtr> {
    flight = cache.claim(key_of(1), 0).flight;  // another thread comes to wait
    throw std::bad_alloc();
  };
  CHECK_THROWS_AS(cache.get<Number>(key_of(1), make), std::bad_alloc);
  REQUIRE(flight);
  const auto landed = flight->wait();
  REQUIRE_FALSE(landed);
  CHECK(landed.error().kind == Errc::system);
  CHECK(landed.error().sys == ENOMEM);
  {
    auto claim = cache.claim(key_of(2), 1000);
    REQUIRE(claim.ours);
    CHECK(cache.held_bytes() == 1000 + kOverhead);
    const DecodeCache::Ticket moved(std::move(*claim.ours));
    claim.ours.reset();  // the duty was moved
    CHECK(cache.held_bytes() == 1000 + kOverhead);
  }
  CHECK(cache.held_bytes() == 0);
  CHECK_FALSE(touch(cache, 1, 1));
  CHECK_FALSE(touch(cache, 2, 1));
}

// Oracle: sums computed by hand.
TEST_CASE("decode_cache: held bytes count values in the making and their true size afterwards",
          "[fs][decode_cache][unit]") {
  DecodeCache cache(kMuch);
  auto known = cache.claim(key_of(1), 1000);
  CHECK(cache.held_bytes() == 1000 + kOverhead);
  auto unknown = cache.claim(key_of(2), 0);  // its size is known only after it is made
  CHECK(cache.held_bytes() == 1000 + kOverhead);
  unknown.ours->publish(std::make_shared<Number>(1), 50);
  CHECK(cache.held_bytes() == 1050 + 2 * kOverhead);
  known.ours->publish(std::make_shared<Number>(2), 900);
  CHECK(cache.held_bytes() == 950 + 2 * kOverhead);
}

TEST_CASE("decode_cache: a value in use is not dropped, and goes when it is free",
          "[fs][decode_cache][unit]") {
  constexpr std::uint64_t kBytes = 1000;
  constexpr std::uint64_t kEach = kBytes + kOverhead;
  DecodeCache cache(4 * kEach);
  std::vector<DecodeCache::Value> pinned;
  for (std::uint64_t i = 0; i < 4; ++i) {
    touch(cache, i, kBytes);
    pinned.push_back(cache.claim(key_of(i), kBytes).ready);
  }
  for (std::uint64_t i = 100; i < 200; ++i) touch(cache, i, kBytes);
  for (std::uint64_t i = 0; i < 4; ++i) {
    INFO("value " << i);
    CHECK(cache.claim(key_of(i), kBytes).ready == pinned[i]);
  }
  pinned.clear();
  for (std::uint64_t i = 200; i < 300; ++i) {
    touch(cache, i, kBytes);
    CHECK(cache.held_bytes() <= 4 * kEach);
  }
  for (std::uint64_t i = 0; i < 4; ++i) CHECK_FALSE(has(cache, i));
}

TEST_CASE("decode_cache: a dropped value is made again, unless it is just being made",
          "[fs][decode_cache][unit]") {
  DecodeCache cache(kMuch);
  touch(cache, 1, 100);
  touch(cache, 2, 100);
  cache.drop(key_of(1));
  cache.drop(key_of(1));
  cache.drop(key_of(99));
  CHECK(cache.held_bytes() == 100 + kOverhead);
  CHECK_FALSE(has(cache, 1));
  CHECK(has(cache, 2));
  auto claim = cache.claim(key_of(3), 100);
  cache.drop(key_of(3));
  CHECK(cache.claim(key_of(3), 100).flight);
  claim.ours->publish(std::make_shared<Number>(3), 100);
  CHECK(has(cache, 3));
  // A holder of the value keeps it.
  const auto pinned = cache.claim(key_of(3), 100).ready;
  cache.drop(key_of(3));
  CHECK(std::static_pointer_cast<const Number>(pinned)->value == 3);
}

// The cache has shards, which are evicted from in turn, each from its oldest value on.  So recently
// used values stay, and the others are evicted roughly from the oldest to the newest.
TEST_CASE("decode_cache: the least recently used value goes first", "[fs][decode_cache][unit]") {
  constexpr std::uint64_t kValues = 4096;
  constexpr std::uint64_t kBytes = 100;
  DecodeCache cache(kValues * (kBytes + kOverhead));
  for (std::uint64_t i = 0; i < kValues; ++i) touch(cache, i, kBytes);
  for (std::uint64_t i = 0; i < kValues; i += 2) REQUIRE(touch(cache, i, kBytes));
  for (std::uint64_t i = 0; i < kValues / 4; ++i) touch(cache, kValues + i, kBytes);

  std::uint64_t gone = 0;
  std::uint64_t oldest_gone = 0;
  std::uint64_t latest_gone = 0;
  for (std::uint64_t i = 0; i < kValues; ++i) {
    if (has(cache, i)) continue;
    ++gone;
    CHECK(i % 2 == 1);
    if (i < kValues / 8) ++oldest_gone;
    if (i >= kValues - kValues / 8) ++latest_gone;
  }
  CHECK(gone == kValues / 4);
  CHECK(oldest_gone == kValues / 16);  // all that were not used again
  CHECK(latest_gone == 0);
}

// Oracle: a model of the values that a single reader may hold.  Sizes and keys are random.
TEST_CASE("decode_cache: the budget is never passed by one reader", "[fs][decode_cache][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  constexpr std::uint64_t kBudget = 100'000;
  DecodeCache cache(kBudget);
  const auto bytes_of = [](std::uint64_t key) { return key * 7919 % 5000 + 1; };
  for (int round = 0; round < 500; ++round) {
    std::set<std::uint64_t> keys;
    std::uint64_t needed = 0;
    while (true) {
      const std::uint64_t key = random() % 200;
      if (needed + bytes_of(key) + kOverhead > kBudget) break;
      if (keys.insert(key).second) needed += bytes_of(key) + kOverhead;
    }
    const auto admission = cache.admissions().admit(needed);
    std::vector<DecodeCache::Value> pinned;
    for (const auto key : keys) {
      auto claim = cache.claim(key_of(key), bytes_of(key));
      REQUIRE(cache.held_bytes() <= kBudget);
      if (claim.ours) claim.ours->publish(std::make_shared<Number>(key), bytes_of(key));
      REQUIRE(cache.held_bytes() <= kBudget);
      pinned.push_back(cache.claim(key_of(key), bytes_of(key)).ready);
      REQUIRE(pinned.back() != nullptr);
    }
  }
}

// A value that counts its bytes while it exists.
struct Counted {
  Counted(std::atomic<std::uint64_t>& sum, std::uint64_t n) : living(sum), bytes(n) {
    living.fetch_add(bytes);
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { living.fetch_sub(bytes); }
  std::atomic<std::uint64_t>& living;
  const std::uint64_t bytes;
};

// A reader for the test below.  Like BlockFetcher, it claims all of its keys before it makes any
// value, and keeps all values until it ends.
class Reader {
 public:
  Reader(DecodeCache& cache, std::atomic<std::uint64_t>& living, std::uint64_t seed)
      : cache_(cache), living_(living), random_(seed) {}

  static std::uint64_t bytes_of(std::uint64_t key) { return key * 7919 % 2000 + 1; }
  // The most by which each thread may temporarily exceed the budget: one value that it has claimed
  // without having made room, or has removed from the map but not yet freed.
  static constexpr std::uint64_t kMaxBytes = 2000 + kOverhead;

  void read_once() {
    std::set<std::uint64_t> keys;
    std::uint64_t needed = 0;
    const std::size_t count = random_() % 12 + 1;
    while (keys.size() < count) {
      const std::uint64_t key = random_() % 64;
      if (keys.insert(key).second) needed += bytes_of(key) + kOverhead;
    }
    const auto admission = cache_.admissions().admit(needed);
    read(keys);
  }

  std::uint64_t most_held = 0;
  std::uint64_t most_living = 0;
  int failures = 0;

 private:
  void read(const std::set<std::uint64_t>& keys) {
    std::vector<DecodeCache::Value> pinned;
    std::vector<std::pair<std::uint64_t, DecodeCache::Ticket>> ours;
    std::vector<std::shared_ptr<DecodeCache::Flight>> flights;
    for (const auto key : keys) {
      auto claim = cache_.claim(key_of(key), bytes_of(key));
      shown_as();
      if (claim.ours) ours.emplace_back(key, std::move(*claim.ours));
      if (claim.flight) flights.push_back(std::move(claim.flight));
      if (claim.ready) pinned.push_back(std::move(claim.ready));
    }
    for (auto& [key, ticket] : ours) {
      pinned.push_back(std::make_shared<const Counted>(living_, bytes_of(key)));
      ticket.publish(pinned.back(), bytes_of(key));
      shown_as();
    }
    for (const auto& flight : flights) {
      auto landed = flight->wait();
      if (!landed) ++failures;
      if (landed) pinned.push_back(std::move(*landed));
    }
    shown_as();
  }
  void shown_as() {
    most_held = std::max(most_held, cache_.held_bytes());
    most_living = std::max<std::uint64_t>(most_living, living_);
  }

  DecodeCache& cache_;
  std::atomic<std::uint64_t>& living_;
  std::mt19937_64 random_;
};

// Oracle: the living values, which count themselves, and the cache's own count.
TEST_CASE("decode_cache: the budget is not passed by many admitted readers",
          "[fs][decode_cache][race]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  constexpr std::size_t kThreads = 8;
  // Small enough that readers wait for each other, and that a single reader may exceed it.
  constexpr std::uint64_t kBudget = 30'000;
  std::atomic<std::uint64_t> living{0};
  {
    DecodeCache cache(kBudget);
    std::vector<std::unique_ptr<Reader>> readers;
    for (std::size_t i = 0; i < kThreads; ++i) {
      readers.push_back(std::make_unique<Reader>(cache, living, seed + i));
    }
    test::on_threads(kThreads, [&](std::size_t i) {
      for (int round = 0; round < 300; ++round) readers[i]->read_once();
    });
    for (const auto& reader : readers) {
      CHECK(reader->failures == 0);
      CHECK(reader->most_held <= kBudget + kThreads * Reader::kMaxBytes);
      CHECK(reader->most_living <= kBudget + kThreads * Reader::kMaxBytes);
    }
    touch(cache, 1000, 1);  // nothing is in use: everything can be evicted
    CHECK(cache.held_bytes() <= kBudget);
    CHECK(living <= cache.held_bytes());
  }
  CHECK(living == 0);
}

TEST_CASE("decode_cache: a cancelled request waits neither for admission nor for a value",
          "[fs][decode_cache][unit]") {
  DecodeCache cache(1000);
  auto all = cache.admissions().admit(1000);
  auto owner = cache.claim(key_of(1), 10);
  std::atomic<bool> is_wanted{true};
  auto waiting = std::async(std::launch::async, [&] {
    codec::WorkBudget budget(1000, [&] { return is_wanted.load(); });
    const codec::WorkScope scope(&budget);
    const auto none = cache.admissions().admit(600);
    return cache.claim(key_of(1), 10).flight->wait();
  });
  is_wanted = false;
  REQUIRE(waiting.wait_for(test::kHangs) == std::future_status::ready);
  const auto got = waiting.get();
  REQUIRE_FALSE(got);
  CHECK(codec::is_interrupt(got.error()));
  // Nothing is left behind in the queue.
  all = Admission();
  test::finish_in_time("the next admission", [&] { all = cache.admissions().admit(1000); });
}

// The request that makes a value is cancelled; another waits for the same value and makes it then.
TEST_CASE("decode_cache: an interrupted request fails no other one", "[fs][decode_cache][race]") {
  DecodeCache cache(kMuch);
  auto owner = cache.claim(key_of(1), 10);
  auto other = std::async(std::launch::async, [&] {
    return cache.get<Number>(key_of(1), [] { return std::make_shared<const Number>(7); });
  });
  owner.ours->fail(codec::interrupted().error());
  REQUIRE(other.wait_for(test::kHangs) == std::future_status::ready);
  const auto made = other.get();
  REQUIRE(made);
  CHECK((*made)->value == 7);
}

// While all values are in use, an attempt to evict takes the same time for any number of values.
// Oracle: the time would be an hour if each of these claims looked at all values.
TEST_CASE("decode_cache: very many values in use can be claimed",
          "[fs][decode_cache][unit][long]") {
  constexpr std::uint64_t kValues = 100'000;
  DecodeCache cache(1);
  std::vector<DecodeCache::Value> pinned;
  for (std::uint64_t i = 0; i < kValues; ++i) {
    auto claim = cache.claim(key_of(i), 1);
    auto value = std::make_shared<Number>(i);
    pinned.push_back(value);
    claim.ours->publish(std::move(value), 1);
  }
  CHECK(cache.held_bytes() == kValues * (1 + kOverhead));
  pinned.clear();
  for (std::uint64_t i = 0; i < kValues && cache.held_bytes() > 1 + kOverhead; ++i) {
    touch(cache, kValues + i, 1);
  }
  CHECK(cache.held_bytes() <= 1 + kOverhead);
}

}  // namespace
}  // namespace framefs::fs::decode_cache_test
