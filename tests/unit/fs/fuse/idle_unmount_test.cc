#include "fs/fuse/session/idle_unmount.h"

#include <atomic>
#include <chrono>

#include "tests/support/catch.h"
#include "tests/support/threads.h"

namespace framefs::fuse::idle_unmount_test {
namespace {

using std::chrono::milliseconds;

// A mount that counts how often the thread asks for each thing.
struct FakeMount {
  std::atomic<bool> gets_requests{false};
  std::atomic<bool> has_written_data{false};
  std::atomic<bool> is_busy{false};
  std::atomic<unsigned> looks{0};
  std::atomic<unsigned> attempts{0};
  std::atomic<bool> is_unmounted{false};

  IdleUnmount::Mount functions() {
    return {.requests = [this] { return gets_requests ? ++looks : (++looks, 0U); },
            .has_written_data = [this] { return has_written_data.load(); },
            .unmount_if_unused =
                [this] {
                  ++attempts;
                  if (!is_busy) is_unmounted = true;
                  return is_unmounted.load();
                }};
  }
};

// Enough looks for several idle times.
constexpr unsigned kManyLooks = 50;

TEST_CASE("idle_unmount: a mount without use is unmounted once", "[fs][idle_unmount][unit]") {
  FakeMount mount;
  const auto begin = std::chrono::steady_clock::now();
  const IdleUnmount idle(milliseconds(50), mount.functions());
  REQUIRE(test::comes_true([&] { return mount.is_unmounted.load(); }));
  CHECK(std::chrono::steady_clock::now() - begin >= milliseconds(50));
  CHECK(mount.attempts == 1);
}

TEST_CASE("idle_unmount: requests and written data keep a mount", "[fs][idle_unmount][unit]") {
  FakeMount mount;
  const bool by_requests = GENERATE(true, false);
  (by_requests ? mount.gets_requests : mount.has_written_data) = true;
  const IdleUnmount idle(milliseconds(8), mount.functions());
  REQUIRE(test::comes_true([&] { return mount.looks >= kManyLooks; }));
  CHECK(mount.attempts == 0);
  mount.gets_requests = false;
  mount.has_written_data = false;
  REQUIRE(test::comes_true([&] { return mount.is_unmounted.load(); }));
}

TEST_CASE("idle_unmount: a mount that is busy is tried again", "[fs][idle_unmount][unit]") {
  FakeMount mount;
  mount.is_busy = true;
  const IdleUnmount idle(milliseconds(4), mount.functions());
  REQUIRE(test::comes_true([&] { return mount.attempts >= 3; }));
  CHECK_FALSE(mount.is_unmounted);
  mount.is_busy = false;
  REQUIRE(test::comes_true([&] { return mount.is_unmounted.load(); }));
}

TEST_CASE("idle_unmount: the end of the mount does not wait for the idle time",
          "[fs][idle_unmount][unit]") {
  FakeMount mount;
  {
    const IdleUnmount idle(std::chrono::hours(24), mount.functions());
  }
  CHECK(mount.attempts == 0);
}

}  // namespace
}  // namespace framefs::fuse::idle_unmount_test
