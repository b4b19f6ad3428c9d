#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "fs/core/files/file.h"

namespace framefs::net {

// Connections that are opened before a request needs them, so that many requests which are sent
// together do not wait for a round trip more.  They carry no byte until a request takes them; the
// handshake of TLS comes then.
// Threads: the network thread alone.
class SpareConnections {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // The connections to a server that wait for requests, those of earlier requests included: as many
  // as there are requests ahead of readers at first.
  static constexpr std::size_t kWanted = 24;
  // Many servers close a connection on which no request comes for 20 seconds.
  static constexpr std::chrono::seconds kMaxAge{10};

  // A socket for a new connection to `server` at this address: a spare one if there is any.
  // `is_connected` says so.  -1, with errno, if there is none at all.
  int open(const std::string& server, const sockaddr* address, socklen_t size, int type,
           int protocol, Time now, bool& is_connected);
  // Closes a socket of open().
  void close(int fd);

  // Begins to open connections to the address at which the last connection to `server` was opened,
  // unless enough wait.  `used` is the number of requests under way.  Returns whether it did.
  bool top_up(const std::string& server, std::size_t used, Time now);
  // Closes those that have waited too long.
  void close_old(Time now);

 private:
  struct Spare {
    fs::UniqueFd fd;
    Time opened;
  };
  struct Server {
    sockaddr_storage address{};
    socklen_t size = 0;
    int type = 0;
    int protocol = 0;
    std::vector<Spare> spares;  // the oldest first
  };

  std::map<std::string, Server> servers_;
  std::size_t open_ = 0;  // the sockets of open() that are not closed yet
};

}  // namespace framefs::net
