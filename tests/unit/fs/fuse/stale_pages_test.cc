#include "fs/fuse/session/stale_pages.h"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "fs/core/threads/guarded.h"
#include "fs/core/threads/interrupt.h"
#include "tests/support/catch.h"

namespace framefs::fuse::stale_pages_test {
namespace {

using Range = StalePages::Range;

// A kernel that can be made to wait for pages.
struct Kernel {
  struct State {
    std::vector<std::pair<fs::NodeId, Range>> drops;
    bool has_locked_pages = false;
  };
  void drop(fs::NodeId node, Range range) {
    state.with_and_wake([&](State& now) { now.drops.emplace_back(node, range); });
    state.wait([](const State& now) { return !now.has_locked_pages; }, [](const State&) {});
  }
  void lock_pages(bool locked) {
    state.with_and_wake([&](State& now) { now.has_locked_pages = locked; });
  }
  std::vector<std::pair<fs::NodeId, Range>> await(std::size_t drops) {
    return state.wait([&](const State& now) { return now.drops.size() >= drops; },
                      [](const State& now) { return now.drops; });
  }
  fs::Guarded<State> state;
};

}  // namespace

TEST_CASE("stale_pages: what is noted during a drop is dropped as one range",
          "[fs][fuse][stale_pages][unit]") {
  Kernel kernel;
  StalePages pages;
  pages.note(1, {});  // not started yet
  pages.start([&](fs::NodeId node, Range range) { kernel.drop(node, range); });
  kernel.lock_pages(true);
  pages.note(2, {.begin = 10, .end = 20});
  kernel.await(1);
  pages.note(3, {.begin = 100, .end = 200});
  pages.note(3, {.begin = 50, .end = 60});
  kernel.lock_pages(false);
  const auto drops = kernel.await(2);
  REQUIRE(drops.size() == 2);
  CHECK(drops[0].first == 2);
  CHECK(drops[0].second.begin == 10);
  CHECK(drops[0].second.end == 20);
  CHECK(drops[1].first == 3);
  CHECK(drops[1].second.begin == 50);
  CHECK(drops[1].second.end == 200);
}

TEST_CASE("stale_pages: a caller waits until its pages are written back",
          "[fs][fuse][stale_pages][unit]") {
  Kernel kernel;
  StalePages pages;
  pages.write_back(1, {});  // without a thread that could do it
  pages.start([&](fs::NodeId node, Range range) { kernel.drop(node, range); });
  pages.write_back(2, {.begin = 10, .end = 20});
  CHECK(kernel.await(1).size() == 1);
  // The drop that is under way when a caller comes does not count.
  kernel.lock_pages(true);
  pages.note(3, {});
  kernel.await(2);
  std::jthread unlocking([&] { kernel.lock_pages(false); });
  pages.write_back(3, {});
  CHECK(kernel.await(3).size() == 3);
}

TEST_CASE("stale_pages: a caller that is cancelled does not wait",
          "[fs][fuse][stale_pages][unit]") {
  Kernel kernel;
  StalePages pages;
  pages.start([&](fs::NodeId node, Range range) { kernel.drop(node, range); });
  kernel.lock_pages(true);
  {
    const fs::InterruptScope cancelled([] { return true; });
    pages.write_back(1, {});
  }
  kernel.lock_pages(false);
  CHECK(kernel.await(1).size() == 1);
}

}  // namespace framefs::fuse::stale_pages_test
