#include "tests/support/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace framefs::test {
namespace {

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// The incoming bytes of one connection.
class Input {
 public:
  explicit Input(int fd) : fd_(fd) {}

  // Reads up to and including `mark`; "" if the connection ends before it.
  std::string until(std::string_view mark) {
    while (true) {
      const auto at = bytes_.find(mark);
      if (at != std::string::npos) return take(at + mark.size());
      if (!more()) return "";
    }
  }
  std::string exactly(std::size_t size) {
    while (bytes_.size() < size) {
      if (!more()) return "";
    }
    return take(size);
  }
  // Reads until the client closes the connection.
  void drain() {
    while (more()) bytes_.clear();
  }

 private:
  std::string take(std::size_t size) {
    auto head = bytes_.substr(0, size);
    bytes_.erase(0, size);
    return head;
  }
  bool more() {
    std::array<char, 65536> some{};
    const auto count = ::recv(fd_, some.data(), some.size(), 0);
    if (count <= 0) return false;
    bytes_.append(some.data(), static_cast<std::size_t>(count));
    return true;
  }

  const int fd_;
  std::string bytes_;
};

bool parse_request(Input& input, ServedRequest& request) {
  const auto head = input.until("\r\n\r\n");
  if (head.empty()) return false;
  const auto line_end = head.find("\r\n");
  const auto first = head.find(' ');
  const auto second = head.find(' ', first + 1);
  request.method = head.substr(0, first);
  request.target = head.substr(first + 1, second - first - 1);
  for (auto at = line_end + 2; at + 2 < head.size();) {
    const auto end = head.find("\r\n", at);
    const auto colon = head.find(':', at);
    auto value = head.substr(colon + 1, end - colon - 1);
    value.erase(0, std::min(value.find_first_not_of(' '), value.size()));
    request.headers[lower_case(head.substr(at, colon - at))] = value;
    at = end + 2;
  }
  const auto length = request.header("content-length");
  if (!length.empty()) request.body = input.exactly(std::stoul(length));
  return true;
}

void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

// Makes the connection end with RST instead of FIN.
void reset(int fd) {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

}  // namespace

std::string ServedRequest::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

ServedAnswer served(int status, std::string_view body,
                    const std::map<std::string, std::string>& headers) {
  std::string bytes = "HTTP/1.1 " + std::to_string(status) + " Served\r\n";
  if (!headers.contains("Content-Length")) {
    bytes += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  }
  for (const auto& [name, value] : headers) bytes += name + ": " + value + "\r\n";
  return {bytes + "\r\n" + std::string(body), ServedAnswer::Then::keep};
}

ServedAnswer served_range(const ServedRequest& request, std::string_view content,
                          const std::map<std::string, std::string>& headers) {
  const auto range = request.header("range");
  auto all = headers;
  const auto total = std::to_string(content.size());
  if (request.method == "HEAD") {
    all["Content-Length"] = total;
    return served(200, "", all);
  }
  if (!range.starts_with("bytes=")) return served(200, content, all);
  const auto dash = range.find('-');
  const auto first = std::stoul(range.substr(6, dash - 6));
  if (first >= content.size()) {
    all["Content-Range"] = "bytes */" + total;
    return served(416, "", all);
  }
  const auto last = std::min<std::size_t>(std::stoul(range.substr(dash + 1)), content.size() - 1);
  all["Content-Range"] =
      "bytes " + std::to_string(first) + "-" + std::to_string(last) + "/" + total;
  return served(206, content.substr(first, last - first + 1), all);
}

struct HttpServer::State {
  Handler handler;
  int listener = -1;
  std::uint16_t port = 0;
  std::atomic<std::size_t> connections{0};
  mutable std::mutex mutex;
  bool stopped = false;
  std::vector<ServedRequest> requests;
  std::vector<int> open;
  std::vector<std::thread> threads;
  std::thread acceptor;

  void serve(int fd) {
    Input input(fd);
    ServedRequest request;
    while (parse_request(input, request)) {
      {
        const std::scoped_lock hold(mutex);
        requests.push_back(request);
      }
      const auto answer = handler(request);
      send_all(fd, answer.bytes);
      if (answer.then == ServedAnswer::Then::stall) input.drain();
      if (answer.then == ServedAnswer::Then::reset) reset(fd);
      if (answer.then != ServedAnswer::Then::keep) break;
      request = {};
    }
    const std::scoped_lock hold(mutex);
    std::erase(open, fd);
    ::close(fd);
  }

  void accept_all() {
    while (true) {
      const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      connections.fetch_add(1);
      const std::scoped_lock hold(mutex);
      if (stopped) {
        ::close(fd);
        return;
      }
      open.push_back(fd);
      threads.emplace_back([this, fd] { serve(fd); });
    }
  }
};

HttpServer::HttpServer(Handler handler) : state_(std::make_unique<State>()) {
  state_->handler = std::move(handler);
  state_->listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  // The socket interface uses this type for addresses of every kind.
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(state_->listener, generic, size) != 0 || ::listen(state_->listener, 256) != 0 ||
      ::getsockname(state_->listener, generic, &size) != 0) {
    std::perror("HttpServer");
    std::abort();
  }
  state_->port = ntohs(address.sin_port);
  state_->acceptor = std::thread([this] { state_->accept_all(); });
}

HttpServer::~HttpServer() {
  std::vector<std::thread> threads;
  {
    const std::scoped_lock hold(state_->mutex);
    state_->stopped = true;
    for (const int fd : state_->open) ::shutdown(fd, SHUT_RDWR);
  }
  ::shutdown(state_->listener, SHUT_RDWR);
  state_->acceptor.join();
  ::close(state_->listener);
  for (auto& thread : state_->threads) thread.join();
}

std::string HttpServer::url() const { return "http://127.0.0.1:" + std::to_string(state_->port); }

std::vector<ServedRequest> HttpServer::requests() const {
  const std::scoped_lock hold(state_->mutex);
  return state_->requests;
}

std::size_t HttpServer::connections() const { return state_->connections.load(); }

}  // namespace framefs::test
