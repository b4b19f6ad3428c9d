#include "fs/net/http/spare_connections.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "tests/support/catch.h"

namespace framefs::net::spare_connections_test {
namespace {

constexpr int kDeadlineMs = 10'000;
const std::string kServer = "http://server";
const SpareConnections::Time kNow = std::chrono::steady_clock::now();

bool is_ready(int fd, short events, int wait_ms) {
  pollfd place{.fd = fd, .events = events, .revents = 0};
  return ::poll(&place, 1, wait_ms) == 1;
}

// A server that accepts connections when it is told to.
struct Listener {
  Listener() : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(fd.get(), generic(), size) == 0);
    REQUIRE(::listen(fd.get(), 128) == 0);
    REQUIRE(::getsockname(fd.get(), generic(), &size) == 0);
  }
  // The socket interface uses this type for addresses of every kind.
  sockaddr* generic() { return reinterpret_cast<sockaddr*>(&address); }
  // Accepts this many connections, and no more if there are no more.
  std::vector<fs::UniqueFd> accept(std::size_t most) {
    std::vector<fs::UniqueFd> accepted;
    while (accepted.size() < most && is_ready(fd.get(), POLLIN, kDeadlineMs)) {
      accepted.emplace_back(::accept4(fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }
    return accepted;
  }
  [[nodiscard]] bool has_more() const { return is_ready(fd.get(), POLLIN, 0); }
  int open(SpareConnections& connections, bool& is_connected, SpareConnections::Time now = kNow) {
    return connections.open(kServer, generic(), size, SOCK_STREAM, 0, now, is_connected);
  }

  fs::UniqueFd fd;
  sockaddr_in address{};
  socklen_t size = sizeof address;
};

TEST_CASE("spare_connections: none is opened when no address is known",
          "[net][spare_connections][unit]") {
  SpareConnections connections;
  CHECK_FALSE(connections.top_up(kServer, 0, kNow));
}

TEST_CASE("spare_connections: a new connection is one that is open when there is one",
          "[net][spare_connections][unit]") {
  Listener listener;
  SpareConnections connections;
  bool is_connected = true;
  const int first = listener.open(connections, is_connected);
  REQUIRE(first >= 0);
  CHECK_FALSE(is_connected);
  CHECK(connections.top_up(kServer, 1, kNow));
  const auto accepted = listener.accept(SpareConnections::kWanted);
  CHECK(accepted.size() == SpareConnections::kWanted);
  CHECK_FALSE(listener.has_more());
  CHECK_FALSE(connections.top_up(kServer, 1, kNow));
  std::vector<int> taken;
  for (std::size_t i = 0; i < SpareConnections::kWanted; ++i) {
    taken.push_back(listener.open(connections, is_connected));
    CHECK(is_connected);
  }
  taken.push_back(listener.open(connections, is_connected));
  CHECK_FALSE(is_connected);
  // Of another server, there is none.
  bool is_of_other = true;
  taken.push_back(connections.open("http://other", listener.generic(), listener.size, SOCK_STREAM,
                                   0, kNow, is_of_other));
  CHECK_FALSE(is_of_other);
  for (const int fd : taken) connections.close(fd);
  connections.close(first);
}

TEST_CASE("spare_connections: those of earlier requests count when they are idle",
          "[net][spare_connections][unit]") {
  Listener listener;
  SpareConnections connections;
  bool is_connected = true;
  std::vector<int> idle;
  for (std::size_t i = 0; i < SpareConnections::kWanted - 3; ++i) {
    idle.push_back(listener.open(connections, is_connected));
  }
  CHECK(connections.top_up(kServer, 1, kNow));
  CHECK(listener.accept(4).size() == 4);
  CHECK_FALSE(listener.has_more());
  for (const int fd : idle) connections.close(fd);
}

TEST_CASE("spare_connections: none is used when the server has closed it, or after its time",
          "[net][spare_connections][unit]") {
  Listener listener;
  SpareConnections connections;
  bool is_connected = true;
  const int first = listener.open(connections, is_connected);
  REQUIRE(connections.top_up(kServer, 1, kNow));
  auto accepted = listener.accept(SpareConnections::kWanted);
  REQUIRE(accepted.size() == SpareConnections::kWanted);
  SECTION("closed") {
    accepted.clear();
    const int second = listener.open(connections, is_connected);
    CHECK_FALSE(is_connected);
    connections.close(second);
  }
  SECTION("old") {
    const int second = listener.open(connections, is_connected, kNow + SpareConnections::kMaxAge);
    CHECK_FALSE(is_connected);
    CHECK(is_ready(accepted.front().get(), POLLIN, kDeadlineMs));  // its end
    connections.close(second);
  }
  connections.close(first);
}

}  // namespace
}  // namespace framefs::net::spare_connections_test
