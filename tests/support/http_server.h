#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace framefs::test {

// A request, as the server received it.
struct ServedRequest {
  std::string method;
  std::string target;                          // path and query, as sent
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  // The value of a header; "" if there is none.
  [[nodiscard]] std::string header(const std::string& name) const;
};

// The server's answer to a request.
struct ServedAnswer {
  std::string bytes;  // head and body, as sent
  enum class Then : std::uint8_t { keep, close, reset, stall } then = Then::keep;
};

// Builds an answer with a Content-Length.
ServedAnswer served(int status, std::string_view body = {},
                    const std::map<std::string, std::string>& headers = {});

// The range of `content` that the request asks for, as a correct server sends it.
ServedAnswer served_range(const ServedRequest& request, std::string_view content,
                          const std::map<std::string, std::string>& headers = {});

// A web server on 127.0.0.1 that answers as a test tells it, including in ways that no correct
// server does.
// Threads: any number of threads call the handler.
class HttpServer {
 public:
  using Handler = std::function<ServedAnswer(const ServedRequest&)>;

  explicit HttpServer(Handler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  // Ends all connections, including stalled ones.
  ~HttpServer();

  [[nodiscard]] std::string url() const;  // http://127.0.0.1:PORT
  // All requests so far, in the order of arrival.
  [[nodiscard]] std::vector<ServedRequest> requests() const;
  [[nodiscard]] std::size_t connections() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace framefs::test
