#include "fs/net/http/spare_connections.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace framefs::net {
namespace {

enum class State : std::uint8_t { connecting, connected, broken };

// The server sends nothing before a request, but may have closed the connection.
State state_of(int fd) {
  pollfd place{.fd = fd, .events = POLLIN | POLLOUT, .revents = 0};
  if (::poll(&place, 1, 0) < 0) return State::broken;
  if ((place.revents & (POLLIN | POLLHUP | POLLERR)) != 0) return State::broken;
  return (place.revents & POLLOUT) != 0 ? State::connected : State::connecting;
}

}  // namespace

int SpareConnections::open(const std::string& server, const sockaddr* address, socklen_t size,
                           int type, int protocol, Time now, bool& is_connected) {
  close_old(now);
  auto& known = servers_[server];
  auto& spares = known.spares;
  std::erase_if(spares,
                [](const Spare& spare) { return state_of(spare.fd.get()) == State::broken; });
  const auto ready = std::ranges::find_if(
      spares, [](const Spare& spare) { return state_of(spare.fd.get()) == State::connected; });
  is_connected = ready != spares.end();
  if (is_connected) {
    ++open_;
    const int fd = ready->fd.release();
    spares.erase(ready);
    return fd;
  }
  const int fd = ::socket(address->sa_family, type | SOCK_CLOEXEC, protocol);
  if (fd < 0) return fd;
  ++open_;
  if (size <= sizeof known.address) {
    std::memcpy(&known.address, address, size);
    known.size = size;
    known.type = type;
    known.protocol = protocol;
  }
  return fd;
}

void SpareConnections::close(int fd) {
  ::close(fd);
  --open_;
}

bool SpareConnections::top_up(const std::string& server, std::size_t used, Time now) {
  const auto found = servers_.find(server);
  if (found == servers_.end() || found->second.size == 0) return false;
  close_old(now);
  auto& [address, size, type, protocol, spares] = found->second;
  const auto idle = open_ - std::min(open_, used);
  bool has_opened = false;
  for (auto waiting = idle + spares.size(); waiting < kWanted; ++waiting) {
    fs::UniqueFd fd(::socket(address.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol));
    if (!fd) break;
    // The kernel's interface takes all kinds of addresses by this type.
    const auto* const to = reinterpret_cast<const sockaddr*>(&address);
    if (::connect(fd.get(), to, size) != 0 && errno != EINPROGRESS) break;
    spares.push_back({std::move(fd), now});
    has_opened = true;
  }
  return has_opened;
}

void SpareConnections::close_old(Time now) {
  for (auto& [server, known] : servers_) {
    std::erase_if(known.spares,
                  [now](const Spare& spare) { return now - spare.opened >= kMaxAge; });
  }
}

}  // namespace framefs::net
