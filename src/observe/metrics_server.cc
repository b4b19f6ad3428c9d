#include "src/observe/metrics_server.h"

#include <microhttpd.h>
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string_view>

#include <fmt/core.h>

#include "fs/core/files/file.h"
#include "src/observe/mount_list.h"
#include "src/observe/stats_text.h"

namespace framefs {
namespace {

constexpr unsigned kMaxConnections = 16;
constexpr unsigned kPatienceS = 10;  // with a client that sends nothing, or takes nothing
constexpr const char* kText = "text/plain; charset=utf-8";
// Source: the exposition formats of Prometheus, "Text-based format".
constexpr const char* kMetrics = "text/plain; version=0.0.4; charset=utf-8";

struct AskedMount {
  explicit AskedMount(std::string path) : mountpoint(std::move(path)), questions(mountpoint) {}
  const std::string mountpoint;
  StatsQuestions questions;  // of the thread that answers
};

MHD_Result answer(MHD_Connection* connection, unsigned status, const char* type,
                  const std::string& text) {
  const std::unique_ptr<MHD_Response, void (*)(MHD_Response*)> response(
      MHD_create_response_from_buffer(text.size(), const_cast<char*>(text.data()),  // is copied
                                      MHD_RESPMEM_MUST_COPY),
      MHD_destroy_response);
  if (!response) return MHD_NO;
  MHD_add_response_header(response.get(), MHD_HTTP_HEADER_CONTENT_TYPE, type);
  if (status == MHD_HTTP_METHOD_NOT_ALLOWED) {
    MHD_add_response_header(response.get(), MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  }
  return MHD_queue_response(connection, status, response.get());
}

MHD_Result handle(void* closure, MHD_Connection* connection, const char* url, const char* method,
                  const char* /*version*/, const char* /*body*/, std::size_t* body_bytes,
                  void** /*state*/) {
  auto& served = *static_cast<AskedMount*>(closure);
  *body_bytes = 0;
  const std::string_view verb = method;
  if (verb != MHD_HTTP_METHOD_GET && verb != MHD_HTTP_METHOD_HEAD) {
    return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, kText, "only GET and HEAD\n");
  }
  if (std::string_view(url) != "/metrics") {
    return answer(connection, MHD_HTTP_NOT_FOUND, kText, "the metrics are at /metrics\n");
  }
  const auto stats = served.questions.ask();
  if (!stats) {
    return answer(connection, MHD_HTTP_SERVICE_UNAVAILABLE, kText,
                  no_answer_text(served.mountpoint, stats.error()) + "\n");
  }
  return answer(connection, MHD_HTTP_OK, kMetrics, stats_metrics(*stats));
}

// Errors: system.
codec::Result<fs::UniqueFd> listen_at(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(),
                                 address.port.c_str(), &hints, &found);
  if (code == EAI_SYSTEM) return fs::system_error("the address");
  if (code != 0) return fs::refusal(EADDRNOTAVAIL, ::gai_strerror(code));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  int error = EADDRNOTAVAIL;
  for (const auto* each = found; each != nullptr; each = each->ai_next) {
    fs::UniqueFd socket(
        ::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol));
    const int yes = 1;
    if (socket.get() >= 0 &&
        ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
        ::bind(socket.get(), each->ai_addr, each->ai_addrlen) == 0 &&
        ::listen(socket.get(), kMaxConnections) == 0) {
      return socket;
    }
    error = errno;
  }
  return fs::system_error_of(error, "listen");
}

std::string url_of(int socket) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof(address);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  auto* const any = reinterpret_cast<sockaddr*>(&address);  // as the interface of sockets has it
  if (::getsockname(socket, any, &bytes) != 0 ||
      ::getnameinfo(any, bytes, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  const bool is_v6 = address.ss_family == AF_INET6;
  return fmt::format("http://{}{}{}:{}/metrics", is_v6 ? "[" : "", host.data(), is_v6 ? "]" : "",
                     port.data());
}

}  // namespace

std::optional<ListenAddress> parse_listen_address(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  auto host = text.substr(0, colon);
  auto port = text.substr(colon + 1);
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc{} || end != port.data() + port.size()) return std::nullopt;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    if (host.empty()) return std::nullopt;
  } else if (host.find_first_of("[]:") != std::string::npos) {
    return std::nullopt;
  }
  return ListenAddress{.host = std::move(host), .port = std::move(port)};
}

codec::Status serve_metrics(const std::string& mountpoint, const ListenAddress& address,
                            const std::function<void(const std::string& url)>& on_ready) {
  FRAMEFS_TRY(auto socket, listen_at(address));
  const auto url = url_of(socket.get());
  // The threads of the server inherit the mask, so that the signals come to sigwait().
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGINT);
  sigaddset(&ending, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  AskedMount served(mountpoint);
  // The library closes the socket.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): its interface
  const std::unique_ptr<MHD_Daemon, void (*)(MHD_Daemon*)> server(
      MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD, 0, nullptr, nullptr, handle, &served,
                       MHD_OPTION_LISTEN_SOCKET, socket.release(), MHD_OPTION_CONNECTION_LIMIT,
                       kMaxConnections, MHD_OPTION_CONNECTION_TIMEOUT, kPatienceS, MHD_OPTION_END),
      MHD_stop_daemon);
  if (!server) return fs::system_error_of(errno != 0 ? errno : EAGAIN, "the server of metrics");
  on_ready(url);
  int signal = 0;
  ::sigwait(&ending, &signal);
  return {};
}

}  // namespace framefs
