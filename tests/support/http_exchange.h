#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace framefs::test {

// A request and its answer, as a proxy saw them pass.  The times are those at the client's end of
// the link.
struct Exchange {
  using Time = std::chrono::steady_clock::time_point;

  std::string method;
  std::string target;       // path and query, as sent
  std::string range;        // the value of the header; "" if there is none
  int status = 0;           // 0 if no answer came
  std::uint64_t bytes = 0;  // of the body; with chunked coding, including the sizes of the chunks
  Time begin{};
  Time first{};  // the first byte of the answer
  Time end{};    // the last byte of the answer; unset while the request is under way
};

// Follows the requests of one connection and their answers, in HTTP/1.1 without pipelining.
class ExchangeParser {
 public:
  using ExchangePtr = std::shared_ptr<Exchange>;

  // The client sent bytes at `now`.  Returns the request that these bytes complete, if any.
  ExchangePtr take_request(std::string_view bytes, Exchange::Time now);

  struct Passed {
    ExchangePtr exchange;          // null for bytes that belong to no request
    std::uint64_t body_bytes = 0;  // of the bytes that were passed
    bool is_begin = false;         // the header ends in these bytes
    bool is_end = false;           // the answer ends in these bytes
  };
  // The server sent bytes.
  Passed take_answer(std::string_view bytes);
  // Removes a request whose answer has not ended, because the connection ends.  Null if there is
  // none.
  ExchangePtr take_unanswered();

 private:
  // The header of a message that has not ended yet.
  struct Header {
    std::string text;
    // Adds bytes.  Returns the number that belong to the header, once it is complete.
    std::optional<std::size_t> add(std::string_view bytes);
    [[nodiscard]] std::string_view field(std::string_view name) const;
  };
  enum class Body : std::uint8_t { none, counted, chunked, until_close };

  void begin_body();
  bool take_body(std::string_view bytes);

  Header request_;
  std::uint64_t request_body_left_ = 0;
  std::deque<ExchangePtr> waiting_;
  Header answer_;
  bool is_in_body_ = false;
  Body body_ = Body::none;
  std::uint64_t body_left_ = 0;
  std::string body_tail_;  // of a chunked body, to find its end
};

// As JSON.  Times are in seconds after `origin`; "end" is null while the request is under way.
std::string to_json(const Exchange& exchange, Exchange::Time origin);

}  // namespace framefs::test
