#include "fs/write/overlay/shared_entries.h"

#include <atomic>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace framefs::fs::shared_entries_test {
namespace {

using Entries = std::vector<std::int64_t>;

Entries copy(const SharedEntries::Snapshot& snapshot) {
  return {snapshot.entries().begin(), snapshot.entries().end()};
}

}  // namespace

TEST_CASE("shared_entries: changes do not show in a snapshot", "[fs][shared_entries][unit]") {
  SharedEntries shared({1, 2, 3});
  const auto before = shared.snapshot();
  shared.change()[0] = 10;
  const auto between = shared.snapshot();
  shared.change().push_back(4);
  shared.change()[1] = 20;
  CHECK(shared.get() == Entries{10, 20, 3, 4});
  CHECK(copy(before) == Entries{1, 2, 3});
  CHECK(copy(between) == Entries{10, 2, 3});
  shared = SharedEntries({7});
  CHECK(copy(between) == Entries{10, 2, 3});
}

TEST_CASE("shared_entries: the list is copied only while a snapshot lives",
          "[fs][shared_entries][unit]") {
  SharedEntries shared({1, 2, 3});
  const auto* const place = shared.get().data();
  {
    auto snapshot = shared.snapshot();
    const auto moved = std::move(snapshot);
    CHECK(moved.entries().data() == place);
  }
  CHECK(shared.change().data() == place);
  const auto snapshot = shared.snapshot();
  CHECK(shared.change().data() != place);
  const auto* const next = shared.get().data();
  CHECK(shared.change().data() == next);  // the snapshot is one of the former list
}

TEST_CASE("shared_entries: a snapshot outlives the list", "[fs][shared_entries][unit]") {
  std::optional<SharedEntries> shared(Entries{1, 2});
  const auto snapshot = shared->snapshot();
  shared.reset();
  CHECK(copy(snapshot) == Entries{1, 2});
}

TEST_CASE("shared_entries: a snapshot is read and ends while the list changes",
          "[fs][shared_entries][race]") {
  constexpr int kRounds = 200;
  SharedEntries shared(Entries(1000, 0));
  bool is_same = true;
  for (int round = 1; round <= kRounds; ++round) {
    std::optional snapshot(shared.snapshot());
    std::atomic<bool> was_same{false};
    {
      const std::jthread reader([&] {
        const auto entries = snapshot->entries();
        was_same = std::accumulate(entries.begin(), entries.end(), std::int64_t{0}) ==
                   1000 * std::int64_t{round - 1};
        snapshot.reset();
      });
      for (std::size_t i = 0; i < 1000; ++i) ++shared.change()[i];
    }
    is_same = is_same && was_same;
  }
  CHECK(is_same);
  CHECK(shared.get() == Entries(1000, kRounds));
}

}  // namespace framefs::fs::shared_entries_test
