#include "fs/write/commit/store_budget.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>

#include "tests/support/catch.h"
#include "tests/support/threads.h"

namespace framefs::fs::store_budget_test {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;

TEST_CASE("store_budget: a small batch does not wait for larger ones", "[fs][store_budget][race]") {
  StoreBudget budget(12 * kMiB);
  const auto large = budget.take(200 * kMiB);
  const auto one = budget.take(6 * kMiB);
  const auto two = budget.take(6 * kMiB);
  test::finish_in_time("a small batch", [&] { const auto small = budget.take(kMiB); });
}

// Oracle: the sum of all shares held, counted by the threads themselves.
TEST_CASE("store_budget: batches together stay within the limit", "[fs][store_budget][race]") {
  constexpr std::uint64_t kLimit = 12 * kMiB;
  StoreBudget budget(kLimit);
  std::atomic<std::uint64_t> held{0};
  std::atomic<std::uint64_t> most{0};
  std::atomic<std::size_t> larges{0};
  std::atomic<bool> is_alone{true};
  test::on_threads(8, [&](std::size_t thread) {
    for (std::uint64_t i = 0; i < 50; ++i) {
      if (thread == 0) {
        const auto share = budget.take(100 * kMiB);
        if (++larges > 1) is_alone = false;
        std::this_thread::yield();
        --larges;
      } else if (thread == 1) {
        const auto share = budget.take(90 * kMiB);
        if (++larges > 1) is_alone = false;
        --larges;
      } else {
        const auto bytes = (5 + (i + thread) % 7) * kMiB;
        const auto share = budget.take(bytes);
        const auto now = held += bytes;
        auto before = most.load();
        while (before < now && !most.compare_exchange_weak(before, now)) {
        }
        std::this_thread::yield();
        held -= bytes;
      }
    }
  });
  CHECK(most <= kLimit);
  CHECK(is_alone);
}

}  // namespace
}  // namespace framefs::fs::store_budget_test
