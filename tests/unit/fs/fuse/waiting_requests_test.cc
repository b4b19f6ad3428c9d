#include "fs/fuse/session/waiting_requests.h"

#include <atomic>
#include <cstddef>
#include <latch>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/threads.h"

namespace framefs::fuse::waiting_requests_test {
namespace {

fuse_buf request_of(std::vector<char>& bytes) {
  fuse_buf request{};
  request.mem = bytes.data();
  request.size = bytes.size();
  return request;
}

// The first requests wait for the last one.
TEST_CASE("waiting_requests: a request is served while many others wait",
          "[fuse][waiting_requests][race]") {
  constexpr std::size_t kWaiting = 12;
  std::latch last_came(1);
  std::latch all_served(kWaiting + 1);
  WaitingRequests requests([&](fuse_buf& request) {
    const bool is_last = *static_cast<const char*>(request.mem) == 'l';
    if (is_last) {
      last_came.count_down();
    } else {
      last_came.wait();
    }
    all_served.count_down();
  });
  std::vector<char> waiting(100, 'w');
  std::vector<char> last(100, 'l');
  for (std::size_t i = 0; i < kWaiting; ++i) REQUIRE(requests.add(request_of(waiting)));
  REQUIRE(requests.add(request_of(last)));
  test::finish_in_time("waiting requests", [&] { all_served.wait(); });
}

TEST_CASE("waiting_requests: their bytes have a limit", "[fuse][waiting_requests][race]") {
  std::latch go(1);
  std::atomic<std::size_t> served{0};
  std::size_t taken = 0;
  {
    WaitingRequests requests([&](fuse_buf&) {
      go.wait();
      ++served;
    });
    std::vector<char> large(10u << 20);
    while (taken < 10 && requests.add(request_of(large))) ++taken;
    CHECK(taken == 3);
    go.count_down();
    // A served request makes room for another one.
    test::finish_in_time("room", [&] {
      while (!requests.add(request_of(large))) std::this_thread::yield();
    });
  }
  CHECK(served >= taken);
  CHECK(served <= taken + 1);
}

TEST_CASE("waiting_requests: after the end no request is taken", "[fuse][waiting_requests][unit]") {
  WaitingRequests requests([](fuse_buf&) {});
  requests.stop();
  std::vector<char> bytes(10);
  CHECK_FALSE(requests.add(request_of(bytes)));
}

}  // namespace
}  // namespace framefs::fuse::waiting_requests_test
