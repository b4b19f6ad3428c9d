// framefs_link_proxy: a link with latency, a bandwidth and faults in front of a web server.
//
//   framefs_link_proxy PORT
//
// Forwards connections to 127.0.0.1:PORT, from a port of its own, which it prints first.  One
// thread delays the bytes of each direction by half of the round trip.  A new connection costs
// another round trip.  Each line of standard input is a command; the answer is one line:
//
//   rtt MS              the round trip
//   rate BYTES          bytes per second in each direction, of all connections; 0 for no limit
//   fault KIND EVERY VALUE
//                       breaks every EVERY-th answer to a GET of a range.  KIND is `reset` or
//                       `stall` (after VALUE bytes of the answer), `status` (the answer is VALUE),
//                       or `none`
//   gone, back          the server cannot be reached; it can be reached again
//   ledger              prints all requests since the last such command as a JSON array.  A request
//                       that is still under way is printed again by the next command
//
// The program ends with its standard input.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <list>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "tests/support/http_exchange.h"
#include "tests/support/link_connection.h"
#include "tests/support/token_bucket.h"

namespace framefs::test {
namespace {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

// The bytes of one direction that are on their way at most, as the windows of TCP limit them.
constexpr std::size_t kWindowBytes = 4 << 20;

sockaddr_in local_address(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// The socket interface uses this type for addresses of every kind.
sockaddr* generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

void send_at_once(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

class Proxy {
 public:
  explicit Proxy(std::uint16_t server) : server_(server), poll_(::epoll_create1(EPOLL_CLOEXEC)) {}

  bool start() {
    if (!listen()) return false;
    std::cout << port_ << '\n' << std::flush;
    watch(EPOLL_CTL_ADD, STDIN_FILENO, EPOLLIN);
    return true;
  }

  void run() {
    std::array<epoll_event, 256> events{};
    while (!is_over_) {
      const auto wait = next_ - Clock::now();
      timespec timeout{};
      const auto ns = std::max<std::int64_t>(0, std::chrono::nanoseconds(wait).count());
      timeout.tv_sec = ns / 1'000'000'000;
      timeout.tv_nsec = ns % 1'000'000'000;
      const int count = ::epoll_pwait2(poll_, events.data(), static_cast<int>(events.size()),
                                       next_ == Time::max() ? nullptr : &timeout, nullptr);
      for (int i = 0; i < count; ++i) handle(events.at(static_cast<std::size_t>(i)));
      forward_all();
      remove_ended();
    }
  }

 private:
  bool listen() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    auto address = local_address(port_);
    socklen_t size = sizeof address;
    if (::bind(listener_, generic(address), size) != 0 || ::listen(listener_, 512) != 0 ||
        ::getsockname(listener_, generic(address), &size) != 0) {
      return false;
    }
    port_ = ntohs(address.sin_port);
    watch(EPOLL_CTL_ADD, listener_, EPOLLIN);
    return true;
  }

  void watch(int action, int fd, std::uint32_t events) const {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    ::epoll_ctl(poll_, action, fd, &event);
  }

  // --- Connections ---

  void accept_all() {
    while (true) {
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (client < 0) return;
      const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      auto address = local_address(server_);
      if (::connect(server, generic(address), sizeof address) != 0) {
        ::close(server);
        ::close(client);
        continue;
      }
      send_at_once(client);
      send_at_once(server);
      auto connection =
          std::make_unique<Connection>(Connection{.up = {.from = client, .to = server},
                                                  .down = {.from = server, .to = client},
                                                  .established = Clock::now() + rtt_});
      // Edges are enough: a socket is read, or written, until it would block.
      watch(EPOLL_CTL_ADD, client, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
      watch(EPOLL_CTL_ADD, server, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
      const auto last = static_cast<std::size_t>(std::max(client, server));
      if (by_fd_.size() <= last) by_fd_.resize(last + 1);
      by_fd_[static_cast<std::size_t>(client)] = connection.get();
      by_fd_[static_cast<std::size_t>(server)] = connection.get();
      connections_.push_back(std::move(connection));
    }
  }

  void handle(const epoll_event& event) {
    const int fd = event.data.fd;
    if (fd == STDIN_FILENO) return take_commands();
    if (fd == listener_) return accept_all();
    auto* const connection = by_fd_[static_cast<std::size_t>(fd)];
    if (connection == nullptr) return;
    auto& out = connection->up.to == fd ? connection->up : connection->down;
    auto& in = connection->up.from == fd ? connection->up : connection->down;
    if ((event.events & EPOLLOUT) != 0) out.is_full = false;
    receive(*connection, in);
  }

  void receive(Connection& connection, Pipe& pipe) {
    while (!connection.is_over && !pipe.is_ended && pipe.bytes < kWindowBytes) {
      auto buffer = buffers_.take();
      const auto got = ::recv(pipe.from, buffer->data(), buffer->size(), MSG_DONTWAIT);
      if (got <= 0) {
        buffers_.give_back(std::move(buffer));
        if (got < 0 && errno == EAGAIN) return;
        pipe.is_ended = true;
        // A client that closes its connection wants no more answers.
        if (&pipe == &connection.up || got < 0) connection.is_over = true;
        return;
      }
      const auto now = Clock::now();
      Piece piece{.bytes = std::move(buffer),
                  .size = static_cast<std::size_t>(got),
                  .due = std::max(now, connection.established) + rtt_ / 2,
                  .passed = {}};
      const std::string_view bytes(piece.bytes->data(), piece.size);
      if (&pipe == &connection.up) {
        if (auto begun = connection.parser.take_request(bytes, now)) ledger_.push_back(begun);
      } else {
        piece.passed = connection.parser.take_answer(bytes);
        if (!apply_fault(connection, piece)) {
          buffers_.give_back(std::move(piece.bytes));
          continue;
        }
      }
      pipe.bytes += piece.size;
      pipe.pieces.push_back(std::move(piece));
    }
  }

  // Changes a piece of an answer as the fault demands.  False if it does not go on.
  bool apply_fault(Connection& connection, Piece& piece) {
    const auto& exchange = piece.passed.exchange;
    if (piece.passed.is_begin) {
      connection.answer_bytes = 0;
      connection.fault.reset();
      const bool is_meant = fault_.every > 0 && !exchange->range.empty();
      if (is_meant && ++ranges_ % fault_.every == 0) connection.fault = fault_;
    }
    if (!connection.fault) return true;
    const auto fault = *connection.fault;
    if (fault.kind == FaultKind::status) {
      const auto text = fmt::format(
          "HTTP/1.1 {} Fault\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", fault.value);
      std::ranges::copy(text, piece.bytes->begin());
      piece.size = text.size();
      piece.passed.body_bytes = 0;
      piece.passed.is_end = true;
      exchange->status = static_cast<int>(fault.value);
      connection.down.is_ended = true;
      return true;
    }
    if (piece.passed.is_end) connection.fault.reset();
    const auto left = fault.value - std::min(fault.value, connection.answer_bytes);
    connection.answer_bytes += piece.size;
    if (piece.size <= left) return true;
    connection.broken = exchange;
    piece.size = left;
    piece.passed.is_end = false;
    piece.passed.body_bytes = std::min(piece.passed.body_bytes, left);
    // A stalled answer never ends, even if the server has sent all of it.
    connection.fault = Fault{fault.kind, 1, 0};
    connection.ends_by_reset = fault.kind == FaultKind::reset;
    return left > 0;
  }

  // --- Bytes that are due ---

  void forward_all() {
    next_ = Time::max();
    const auto now = Clock::now();
    up_.refill(now);
    down_.refill(now);
    // Each pass sends one slice for each pipe, so that all have their share.
    for (bool is_more = true; is_more;) {
      is_more = false;
      for (const auto& connection : connections_) {
        if (connection->is_over) continue;
        is_more = forward(*connection, connection->up, up_, now) || is_more;
        is_more = forward(*connection, connection->down, down_, now) || is_more;
      }
      // The first connection has no advantage when the bucket runs empty.
      if (!connections_.empty()) {
        connections_.splice(connections_.end(), connections_, connections_.begin());
      }
    }
  }

  // Sends a slice.  Returns whether another slice may follow now.
  bool forward(Connection& connection, Pipe& pipe, TokenBucket& bucket, Time now) {
    if (pipe.pieces.empty()) {
      if (&pipe == &connection.down && (pipe.is_ended || connection.ends_by_reset)) {
        connection.is_over = true;
      }
      return false;
    }
    auto& piece = pipe.pieces.front();
    if (pipe.is_full) return false;
    if (piece.due > now) {
      next_ = std::min(next_, piece.due);
      return false;
    }
    if (bucket.is_empty()) {
      next_ = std::min(next_, bucket.next(now));
      return false;
    }
    const auto size = bucket.slice(piece.size - piece.sent);
    const auto sent =
        ::send(pipe.to, piece.bytes->data() + piece.sent, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
      pipe.is_full = errno == EAGAIN;
      connection.is_over = errno != EAGAIN;
      return false;
    }
    bucket.spend(static_cast<std::size_t>(sent));
    piece.sent += static_cast<std::size_t>(sent);
    if (piece.sent == piece.size) end_piece(connection, pipe);
    return !connection.is_over;
  }

  void end_piece(Connection& connection, Pipe& pipe) {
    auto piece = std::move(pipe.pieces.front());
    pipe.pieces.pop_front();
    const bool was_closed = pipe.bytes >= kWindowBytes;
    pipe.bytes -= piece.size;
    buffers_.give_back(std::move(piece.bytes));
    if (const auto& exchange = piece.passed.exchange) {
      const auto now = Clock::now();
      if (exchange->first == Time{}) exchange->first = now;
      exchange->bytes += piece.passed.body_bytes;
      if (piece.passed.is_end) exchange->end = now;
    }
    if (was_closed) receive(connection, pipe);
  }

  void remove_ended() {
    std::erase_if(connections_, [this](const auto& connection) {
      if (!connection->is_over) return false;
      close(*connection);
      return true;
    });
  }

  void close(Connection& connection) {
    const int client = connection.up.from;
    const int server = connection.up.to;
    if (connection.ends_by_reset) {
      const linger now{.l_onoff = 1, .l_linger = 0};
      ::setsockopt(client, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }
    const auto end = [now = Clock::now()](const std::shared_ptr<Exchange>& exchange) {
      if (exchange && exchange->end == Time{}) exchange->end = now;
    };
    end(connection.broken);
    while (const auto unanswered = connection.parser.take_unanswered()) end(unanswered);
    for (auto* const pipe : {&connection.up, &connection.down}) {
      for (auto& piece : pipe->pieces) {
        end(piece.passed.exchange);
        buffers_.give_back(std::move(piece.bytes));
      }
    }
    by_fd_[static_cast<std::size_t>(client)] = nullptr;
    by_fd_[static_cast<std::size_t>(server)] = nullptr;
    ::close(client);
    ::close(server);
  }

  // --- Commands ---

  void take_commands() {
    std::array<char, 4096> some{};
    const auto got = ::read(STDIN_FILENO, some.data(), some.size());
    if (got <= 0) {
      is_over_ = true;
      return;
    }
    input_.append(some.data(), static_cast<std::size_t>(got));
    for (auto end = input_.find('\n'); end != input_.npos; end = input_.find('\n')) {
      std::istringstream words(input_.substr(0, end));
      input_.erase(0, end + 1);
      std::cout << obey(words) << '\n' << std::flush;
    }
  }

  std::string obey(std::istream& words) {
    std::string command;
    words >> command;
    if (command == "ledger") return ledger();
    if (command == "gone") return gone();
    if (command == "back") return listen() ? "ok" : "error";
    if (command == "fault") return set_fault(words);
    double value = 0;
    if (!(words >> value) || value < 0) return "error";
    if (command == "rtt") {
      rtt_ = std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double, std::milli>(value));
    } else if (command == "rate") {
      up_.limit(value);
      down_.limit(value);
    } else {
      return "error";
    }
    return "ok";
  }

  std::string set_fault(std::istream& words) {
    constexpr std::array<std::pair<std::string_view, FaultKind>, 4> kKinds{
        {{"none", FaultKind::none},
         {"reset", FaultKind::reset},
         {"stall", FaultKind::stall},
         {"status", FaultKind::status}}};
    std::string name;
    words >> name;
    const auto* const kind = std::ranges::find(kKinds, name, [](const auto& k) { return k.first; });
    if (kind == kKinds.end()) return "error";
    Fault fault{.kind = kind->second};
    if (fault.kind != FaultKind::none && !(words >> fault.every >> fault.value)) return "error";
    fault_ = fault;
    ranges_ = 0;
    return "ok";
  }

  std::string gone() {
    ::close(std::exchange(listener_, -1));
    for (const auto& connection : connections_) {
      connection->ends_by_reset = true;
      connection->is_over = true;
    }
    return "ok";
  }

  std::string ledger() {
    std::string json = "[";
    for (const auto& exchange : ledger_) {
      if (json.size() > 1) json += ", ";
      json += to_json(*exchange, origin_);
    }
    std::erase_if(ledger_, [](const auto& exchange) { return exchange->end != Time{}; });
    return json + "]";
  }

  const std::uint16_t server_;
  const int poll_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  Clock::duration rtt_{};
  TokenBucket up_;
  TokenBucket down_;
  Fault fault_;
  std::uint64_t ranges_ = 0;
  Buffers buffers_;
  std::list<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> by_fd_;
  std::vector<std::shared_ptr<Exchange>> ledger_;
  const Time origin_ = Clock::now();
  Time next_ = Time::max();
  std::string input_;
  bool is_over_ = false;
};

}  // namespace
}  // namespace framefs::test

int main(int argc, char** argv) {
  const auto port = argc == 2 ? std::strtoul(argv[1], nullptr, 10) : 0;
  if (port == 0 || port > 65535) {
    std::cerr << "usage: framefs_link_proxy PORT\n";
    return 2;
  }
  framefs::test::Proxy proxy(static_cast<std::uint16_t>(port));
  if (!proxy.start()) {
    std::cerr << "framefs_link_proxy: no port to listen at\n";
    return 1;
  }
  proxy.run();
  return 0;
}
