#include "tests/support/http_exchange.h"

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.h"

namespace framefs::test::http_exchange_test {
namespace {

struct Case {
  std::string request;
  std::string answer;
  std::uint64_t body_bytes;
};

const std::vector<Case> kCases{
    {"GET /a?b HTTP/1.1\r\nRange: bytes=0-4\r\n\r\n",
     "HTTP/1.1 206 OK\r\ncontent-length: 5\r\n\r\nhello", 5},
    {"HEAD /a HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 0},
    {"PROPFIND /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
     "HTTP/1.1 207 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 15},
    {"GET /a HTTP/1.1\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n", 0},
    {"GET /a HTTP/1.1\r\n\r\n",
     "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Slow\r\nContent-Length: 0\r\n\r\n", 0},
};

// Hands `bytes` to `take` in pieces of `size`.
template <class Take>
void feed(std::string_view bytes, std::size_t size, const Take& take) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(size, bytes.size()))) {
    take(bytes.substr(0, size));
  }
}

// Oracle: the cases above, whatever the pieces in which their bytes come.
TEST_CASE("http_exchange: requests and answers are told apart in any pieces",
          "[support][http_exchange][unit]") {
  for (std::size_t size = 1; size <= 100; ++size) {
    ExchangeParser parser;
    for (const auto& [request, answer, body_bytes] : kCases) {
      INFO(request << " in pieces of " << size);
      ExchangeParser::ExchangePtr exchange;
      feed(request, size, [&](std::string_view some) {
        if (auto begun = parser.take_request(some, {})) exchange = begun;
      });
      REQUIRE(exchange);
      CHECK(exchange->method == request.substr(0, request.find(' ')));
      std::uint64_t bytes = 0;
      int begins = 0;
      int ends = 0;
      feed(answer, size, [&](std::string_view some) {
        REQUIRE(ends == 0);
        const auto passed = parser.take_answer(some);
        CHECK(passed.exchange == exchange);
        bytes += passed.body_bytes;
        begins += passed.is_begin ? 1 : 0;
        ends += passed.is_end ? 1 : 0;
      });
      CHECK(begins == 1);
      CHECK(ends == 1);
      CHECK(bytes == body_bytes);
      CHECK(std::to_string(exchange->status) == answer.substr(answer.rfind("HTTP/1.1 ") + 9, 3));
    }
    CHECK_FALSE(parser.take_unanswered());
  }
}

TEST_CASE("http_exchange: a request without an answer is known", "[support][http_exchange][unit]") {
  ExchangeParser parser;
  const auto exchange = parser.take_request("GET /\"a HTTP/1.1\r\nRANGE: bytes=1-2\r\n\r\n", {});
  REQUIRE(exchange);
  CHECK(parser.take_unanswered() == exchange);
  CHECK(to_json(*exchange, Exchange::Time{} - std::chrono::seconds(1)) ==
        R"({"method": "GET", "target": "/\"a", "range": "bytes=1-2", "status": 0, "bytes": 0, )"
        R"("begin": null, "first": null, "end": null})");
}

}  // namespace
}  // namespace framefs::test::http_exchange_test
