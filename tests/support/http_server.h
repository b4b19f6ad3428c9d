#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace framefs::test {

// A request as the server got it.
struct ServedRequest {
  std::string method;
  std::string target;                          // path and query, as sent
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  // The header's value; "" where there is none.
  [[nodiscard]] std::string header(const std::string& name) const;
};

// What the server does with a request.
struct ServedAnswer {
  std::string bytes;  // what it sends, head and body
  enum class Then { keep, close, reset, stall } then = Then::keep;
};

// An answer with its Content-Length.
ServedAnswer served(int status, std::string_view body = {},
                    const std::map<std::string, std::string>& headers = {});

// The range of `content` that the request asks for, as a good server sends it.
ServedAnswer served_range(const ServedRequest& request, std::string_view content,
                          const std::map<std::string, std::string>& headers = {});

// A web server on 127.0.0.1 that does what a test tells it, also what no good server does.
// Threads: the handler is called by any number.
class HttpServer {
 public:
  using Handler = std::function<ServedAnswer(const ServedRequest&)>;

  explicit HttpServer(Handler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  // Connections end, stalled ones too.
  ~HttpServer();

  [[nodiscard]] std::string url() const;  // http://127.0.0.1:PORT
  // All requests so far, in the order in which they came.
  [[nodiscard]] std::vector<ServedRequest> requests() const;
  [[nodiscard]] std::size_t connections() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace framefs::test
