#include "fs/net/http/network_thread.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include "fs/net/http/public_address.h"
#include "fs/net/http/spare_connections.h"
#include "tests/support/catch.h"
#include "tests/support/http_server.h"
#include "tests/support/network.h"
#include "tests/support/threads.h"

namespace framefs::net::network_thread_test {
namespace {

using test::HttpServer;
using test::running_network;
using test::served;
using test::ServedAnswer;
using test::ServedRequest;

HttpRequest get(const std::string& url) {
  HttpRequest request;
  request.url = *parse_url(url);
  return request;
}

TEST_CASE("network_thread: an answer has status, headers and body", "[net][network_thread][unit]") {
  HttpServer server([](const ServedRequest&) { return served(206, "body", {{"ETag", "\"x\""}}); });
  const auto thread = running_network();
  auto request = get(server.url() + "/a/../b%20c?d=e");
  request.headers.add("Range", "bytes=0-3");
  const auto answer = perform(*thread, request);
  REQUIRE(answer);
  CHECK(answer->status == 206);
  CHECK(answer->text() == "body");
  CHECK(answer->headers.find("etag") == "\"x\"");
  CHECK(answer->total >= answer->first_byte);
  const auto got = server.requests();
  REQUIRE(got.size() == 1);
  CHECK(got[0].target == "/a/../b%20c?d=e");  // in a key, ".." has no special meaning
  CHECK(got[0].header("range") == "bytes=0-3");
  CHECK(got[0].header("accept-encoding") == "identity");
}

TEST_CASE("network_thread: a field with control characters is no field",
          "[net][network_thread][corrupt]") {
  HttpHeaders headers;
  headers.add("etag", "\"a\rx-other: b\"");
  headers.add("x\nb", "c");
  headers.add("good", "tab\tis allowed");
  CHECK(headers.fields() == std::vector<HttpHeaders::Field>{{"good", "tab\tis allowed"}});
}

TEST_CASE("network_thread: a public server leads to no private address",
          "[net][network_thread][corrupt]") {
  for (const auto* const address :
       {"127.0.0.1", "127.9.9.9", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
        "169.254.169.254", "100.64.0.1", "0.0.0.0", "::1", "::", "fe80::1", "fd00::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "no address"}) {
    INFO(address);
    CHECK_FALSE(is_public(address));
  }
  for (const auto* const address :
       {"8.8.8.8", "172.32.0.1", "172.15.255.255", "192.167.1.1", "100.128.0.1", "126.0.0.1",
        "2001:4860::8888", "::ffff:8.8.8.8"}) {
    INFO(address);
    CHECK(is_public(address));
  }
  HttpServer server([](const ServedRequest&) { return served(200, "secret"); });
  const auto thread = running_network();
  CHECK_FALSE(perform(*thread, get(server.url()))->is_from_public);
  auto request = get(server.url());
  request.is_public_only = true;
  // The first request has left a connection.
  const auto answer = perform(*thread, request);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().sys == EPROTO);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("network_thread: methods other than GET", "[net][network_thread][unit]") {
  HttpServer server([](const ServedRequest& request) {
    return request.method == "HEAD" ? served(200, "", {{"Content-Length", "99"}})
                                    : served(207, request.body);
  });
  const auto thread = running_network();
  auto head = get(server.url());
  head.method = "HEAD";
  const auto size = perform(*thread, head);
  REQUIRE(size);
  CHECK(size->headers.find("content-length") == "99");
  auto propfind = get(server.url());
  propfind.method = "PROPFIND";
  propfind.body = "<xml/>";
  const auto found = perform(*thread, propfind);
  REQUIRE(found);
  CHECK(found->status == 207);
  CHECK(found->text() == "<xml/>");
  auto put = get(server.url());
  put.method = "PUT";  // without a body
  CHECK(perform(*thread, put));
  CHECK(server.requests().back().method == "PUT");
}

TEST_CASE("network_thread: a connection serves many requests", "[net][network_thread][unit]") {
  HttpServer server([](const ServedRequest&) { return served(200, "x"); });
  const auto thread = running_network();
  for (int i = 0; i < 20; ++i) REQUIRE(perform(*thread, get(server.url())));
  CHECK(server.connections() == 1);
}

// Opens connections as the first of many requests does, and waits until the server has them.
void open_connections(NetworkThread& thread, HttpServer& server) {
  REQUIRE(perform(thread, get(server.url())));  // now the address is known
  auto first = get(server.url());
  first.is_first_of_many = true;
  REQUIRE(perform(thread, first));
  REQUIRE(test::comes_true([&] { return server.connections() > SpareConnections::kWanted; }));
}

TEST_CASE("network_thread: requests at once take the connections that the first of many has opened",
          "[net][network_thread][race]") {
  std::atomic<std::size_t> begun = 0;
  HttpServer server([&](const ServedRequest& request) {
    if (request.target == "/") return served(200, "x");
    ++begun;
    const bool all = test::comes_true([&] { return begun == SpareConnections::kWanted; });
    return served(all ? 200 : 500, "y");
  });
  const auto thread = running_network();
  open_connections(*thread, server);
  const auto before = server.connections();
  std::atomic<std::size_t> answered = 0;
  test::on_threads(SpareConnections::kWanted, [&](std::size_t) {
    const auto answer = perform(*thread, get(server.url() + "/many"));
    if (answer && answer->status == 200) ++answered;
  });
  CHECK(answered == SpareConnections::kWanted);
  CHECK(server.connections() == before);
}

TEST_CASE("network_thread: requests at once have connections of their own",
          "[net][network_thread][race]") {
  constexpr std::size_t kRequests = 32;
  std::mutex mutex;
  std::size_t begun = 0;
  // Each answer waits until all requests have arrived, so sequential requests would never end.
  HttpServer server([&](const ServedRequest& request) {
    {
      const std::scoped_lock hold(mutex);
      ++begun;
    }
    const bool all = test::comes_true([&] {
      const std::scoped_lock hold(mutex);
      return begun == kRequests;
    });
    return served(all ? 200 : 500, request.target);
  });
  const auto thread = running_network();
  std::vector<std::string> bodies(kRequests);
  test::on_threads(kRequests, [&](std::size_t i) {
    const auto answer = perform(*thread, get(server.url() + "/" + std::to_string(i)));
    if (answer && answer->status == 200) bodies[i] = answer->text();
  });
  for (std::size_t i = 0; i < kRequests; ++i) CHECK(bodies[i] == "/" + std::to_string(i));
}

TEST_CASE("network_thread: a failed transfer is an error", "[net][network_thread][unit]") {
  const auto thread = running_network();
  const auto error_of = [&](ServedAnswer answer) {
    HttpServer server([&](const ServedRequest&) { return answer; });
    const auto got = perform(*thread, get(server.url()));
    REQUIRE_FALSE(got);
    CHECK(got.error().kind == Errc::system);
    return got.error().sys;
  };
  auto half = served(200, "0123456789", {{"Content-Length", "100"}});
  half.then = ServedAnswer::Then::close;
  CHECK(error_of(half) == ECONNRESET);
  half.then = ServedAnswer::Then::reset;
  CHECK(error_of(half) == ECONNRESET);
  CHECK(error_of({"", ServedAnswer::Then::close}) == ECONNRESET);
  CHECK(error_of({"no HTTP\r\n\r\n", ServedAnswer::Then::close}) == EPROTO);

  std::string gone;
  {
    HttpServer server([](const ServedRequest&) { return served(200); });
    gone = server.url();
  }
  const auto refused = perform(*thread, get(gone));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().sys == ECONNREFUSED);
}

TEST_CASE("network_thread: a request has its time", "[net][network_thread][unit]") {
  HttpServer server([](const ServedRequest&) {
    return ServedAnswer{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab",
                        ServedAnswer::Then::stall};
  });
  const auto thread = running_network();
  auto request = get(server.url());
  request.timeout = std::chrono::milliseconds(50);
  const auto late = perform(*thread, request);
  REQUIRE_FALSE(late);
  CHECK(late.error().sys == ETIMEDOUT);
}

TEST_CASE("network_thread: a body that is longer than allowed is not taken in",
          "[net][network_thread][unit]") {
  HttpServer server([](const ServedRequest&) { return served(200, std::string(100'000, 'x')); });
  const auto thread = running_network();
  auto request = get(server.url());
  request.max_body_bytes = 1000;
  const auto answer = perform(*thread, request);
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->body_too_long);
  CHECK(answer->body.size() <= 1000);
}

TEST_CASE("network_thread: trailers are bounded and change no header",
          "[net][network_thread][corrupt]") {
  std::string trailers = "ETag: \"of the trailer\"\r\n";
  const std::string body =
      "HTTP/1.1 200 OK\r\nETag: \"x\"\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n";
  HttpServer server([&](const ServedRequest& request) {
    if (request.target == "/short") return ServedAnswer{.bytes = body + trailers + "\r\n"};
    std::string endless;
    while (endless.size() < (1 << 20)) endless += trailers;
    return ServedAnswer{.bytes = body + endless, .then = ServedAnswer::Then::stall};
  });
  const auto thread = running_network();
  const auto answer = perform(*thread, get(server.url() + "/short"));
  REQUIRE(answer);
  CHECK(answer->text() == "body");
  CHECK(answer->headers.find("etag") == "\"x\"");
  const auto refused = perform(*thread, get(server.url() + "/endless"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == Errc::bad_field);
}

TEST_CASE("network_thread: redirects are not followed by themselves",
          "[net][network_thread][unit]") {
  HttpServer server([](const ServedRequest&) { return served(302, "", {{"Location", "/b"}}); });
  const auto thread = running_network();
  const auto answer = perform(*thread, get(server.url() + "/a"));
  REQUIRE(answer);
  CHECK(answer->status == 302);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("network_thread: a cancelled request is never answered", "[net][network_thread][race]") {
  HttpServer server([](const ServedRequest& request) {
    return request.target == "/stall" ? ServedAnswer{"", ServedAnswer::Then::stall} : served(200);
  });
  const auto thread = running_network();
  std::atomic<bool> answered{false};
  const auto ticket = thread->submit(get(server.url() + "/stall"),
                                     [&](const Result<HttpAnswer>&) { answered.store(true); });
  REQUIRE(test::comes_true([&] { return !server.requests().empty(); }));
  thread->cancel(ticket);
  // Commands are processed in order: after this answer, the request before it has been cancelled.
  REQUIRE(perform(*thread, get(server.url() + "/other")));
  CHECK_FALSE(answered.load());
}

TEST_CASE("network_thread: requests under way do not delay the end",
          "[net][network_thread][race]") {
  HttpServer server(
      [](const ServedRequest&) { return ServedAnswer{"", ServedAnswer::Then::stall}; });
  std::atomic<bool> answered{false};
  {
    const auto thread = running_network();
    for (int i = 0; i < 8; ++i) {
      thread->submit(get(server.url()), [&](const Result<HttpAnswer>&) { answered.store(true); });
    }
    thread->call_at(Transport::Clock::now() + std::chrono::hours(1), [&] { answered.store(true); });
    REQUIRE(test::comes_true([&] { return server.requests().size() == 8; }));
  }
  CHECK_FALSE(answered.load());
}

TEST_CASE("network_thread: timers run in their order, and not when cancelled",
          "[net][network_thread][unit]") {
  const auto thread = running_network();
  std::promise<std::string> all;
  std::string order;
  const auto now = Transport::Clock::now();
  using std::chrono::milliseconds;
  const auto never = thread->call_at(now + milliseconds(20), [&] { order += 'x'; });
  thread->call_at(now + milliseconds(40), [&] {
    order += 'c';
    all.set_value(order);
  });
  thread->call_at(now + milliseconds(30), [&] { order += 'b'; });
  thread->call_at(now, [&] { order += 'a'; });
  thread->cancel(never);
  CHECK(all.get_future().get() == "abc");
}

}  // namespace
}  // namespace framefs::net::network_thread_test
