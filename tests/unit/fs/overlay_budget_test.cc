#include "fs/write/overlay/overlay_budget.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace framefs::fs::overlay_budget_test {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;

// Takes `size` bytes again and again until there is no room.  Gives them back at the end.
class Filler {
 public:
  Filler(OverlayBudget& budget, std::size_t size) : account_(budget), size_(size) {}
  Filler(const Filler&) = delete;
  Filler& operator=(const Filler&) = delete;
  ~Filler() {
    for (auto& bytes : taken_) account_.give_back(std::move(bytes), size_);
  }
  bool take_one() {
    const auto room = account_.reserve(size_);
    if (room) taken_.push_back(account_.take(size_));
    return room.has_value();
  }
  void fill() {
    while (take_one()) {
    }
  }
  [[nodiscard]] std::uint64_t used() const { return account_.used(); }

 private:
  OverlayBudget::Account account_;
  std::size_t size_;
  std::vector<std::unique_ptr<std::byte[]>> taken_;
};

TEST_CASE("overlay_budget: all frames together stay within the limit",
          "[fs][overlay_budget][unit]") {
  OverlayBudget budget(64 * kMiB);
  {
    Filler one(budget, kMiB);
    Filler two(budget, kMiB);
    Filler three(budget, 4096);
    one.fill();
    two.fill();
    three.fill();
    CHECK(budget.used() == one.used() + two.used() + three.used());
    CHECK(budget.used() <= 64 * kMiB);
    CHECK(budget.used() >= 32 * kMiB);
  }
  CHECK(budget.used() == 0);
}

TEST_CASE("overlay_budget: a frame that uses little has room when others have filled theirs",
          "[fs][overlay_budget][unit]") {
  OverlayBudget budget(16 * kMiB);
  std::vector<std::unique_ptr<Filler>> heavy;
  for (int i = 0; i < 12; ++i) {
    heavy.push_back(std::make_unique<Filler>(budget, kMiB));
    heavy.back()->fill();
  }
  for (const auto& each : heavy) CHECK_FALSE(each->take_one());
  CHECK(OverlayBudget::Account(budget).reserve(0));  // into memory that a chunk already has
  Filler small(budget, 4096);
  CHECK(small.take_one());
  CHECK(small.take_one());
}

TEST_CASE("overlay_budget: one request beyond the limit at a time", "[fs][overlay_budget][unit]") {
  OverlayBudget budget(16 * kMiB);
  Filler small(budget, 4096);
  REQUIRE(small.take_one());
  Filler other(budget, 64 * kMiB);
  {
    Filler large(budget, 64 * kMiB);
    CHECK(large.take_one());
    CHECK_FALSE(large.take_one());
    CHECK_FALSE(other.take_one());
    CHECK(small.take_one());  // all others have the limit for themselves
  }
  CHECK(other.take_one());
}

TEST_CASE("overlay_budget: reservations count", "[fs][overlay_budget][unit]") {
  OverlayBudget budget(16 * kMiB);
  OverlayBudget::Account one(budget);
  OverlayBudget::Account two(budget);
  {
    const auto first = one.reserve(6 * kMiB);
    REQUIRE(first);
    CHECK(budget.used() == 6 * kMiB);
    CHECK_FALSE(two.reserve(6 * kMiB));
  }
  CHECK(budget.used() == 0);
  CHECK(two.reserve(6 * kMiB));
}

TEST_CASE("overlay_budget: indexes have a part of the limit, or one index is alone",
          "[fs][overlay_budget][unit]") {
  OverlayBudget budget(16 * kMiB);  // 14 MiB without what is kept
  OverlayBudget::Index one(budget);
  OverlayBudget::Index other(budget);
  CHECK(one.try_grow(2 * kMiB));
  CHECK_FALSE(other.try_grow(2 * kMiB));
  CHECK(other.try_grow(kMiB));
  CHECK(other.try_grow(100 * kMiB));
  CHECK_FALSE(one.try_grow(100 * kMiB));
  CHECK(one.try_grow(3 * kMiB));  // the part of the other one is free
  other.set(kMiB / 4);
  CHECK(one.try_grow(100 * kMiB));
  CHECK(budget.used() == 0);
}

TEST_CASE("overlay_budget: beside indexes, a writer gets half of the limit",
          "[fs][overlay_budget][unit]") {
  OverlayBudget budget(16 * kMiB);
  OverlayBudget::Index index(budget);
  REQUIRE(index.try_grow(7 * kMiB / 2));
  OverlayBudget::Account writer(budget);
  CHECK(writer.reserve(7 * kMiB));
  OverlayBudget::Account other(budget);
  const auto most = writer.reserve(7 * kMiB);
  CHECK(other.reserve(kMiB));
  CHECK_FALSE(other.reserve(4 * kMiB));
}

}  // namespace
}  // namespace framefs::fs::overlay_budget_test
