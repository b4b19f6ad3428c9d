#include "fs/net/http/request_queue.h"

#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "fs/core/files/file.h"
#include "fs/core/threads/interrupt.h"
#include "fs/net/http/network_thread.h"
#include "fs/net/http/retry_rules.h"
#include "tests/support/catch.h"
#include "tests/support/fake_transport.h"
#include "tests/support/http_server.h"
#include "tests/support/network.h"
#include "tests/support/quiet_health.h"
#include "tests/support/threads.h"

namespace framefs::net::request_queue_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::fake_answer;
using Paths = std::vector<std::string>;

// The requests that a new queue sends at a time, and those of them that may be prefetches.
constexpr std::size_t kSlots = ConcurrencyLimit::kFirst;
constexpr std::size_t kPrefetches = kSlots * 3 / 4;

Verdict by_status(const HttpAnswer& answer) {
  if (answer.status == 200) return {};
  const auto error = fs::system_error_of(EIO, "status").error();
  if (answer.status == 503) return {Verdict::Kind::slow_down, error};
  if (answer.status == 500) return {Verdict::Kind::retry, error};
  return {Verdict::Kind::failed, fs::system_error_of(EACCES, "status").error()};
}

Call call_for(const std::string& path, Priority priority = Priority::demand) {
  Call call;
  call.make = [path]() -> Result<HttpRequest> {
    HttpRequest request;
    request.url.path = path;
    return request;
  };
  call.judge = by_status;
  call.priority = priority;
  return call;
}

// A queue over a fake network.  Calls that ended are noted in `ended` as "path status" or "path
// !errno".
struct Queue {
  test::FakeTransport transport;
  NetStats stats;
  test::QuietHealth log;
  RequestQueue queue{transport, stats, log.health};
  std::vector<std::string> ended;

  // The server is now one that has answered, as that of every mount that is served.
  void get_first_answer() {
    start("/first");
    transport.answer(fake_answer(200));
    ended.clear();
  }
  RequestQueue::Id start(const std::string& path, Priority priority = Priority::demand) {
    return queue.start(call_for(path, priority), [this, path](Result<HttpAnswer> result) {
      ended.push_back(path + (result ? " " + std::to_string(result->status)
                                     : " !" + std::to_string(result.error().sys)));
    });
  }
};

TEST_CASE("request_queue: a call ends with the answer that is wanted", "[net][queue][unit]") {
  Queue q;
  q.start("/a");
  CHECK(q.transport.waiting() == Paths{"/a"});
  q.transport.answer(fake_answer(200));
  CHECK(q.ended == Paths{"/a 200"});
  CHECK(q.transport.timers() == 0);
  CHECK(q.stats.counts().answers[0][2] == 1);
}

TEST_CASE("request_queue: after a transient failure a request is sent again, after a pause",
          "[net][queue][unit]") {
  Queue q;
  q.start("/a");
  q.transport.answer(fake_answer(500));
  CHECK(q.transport.waiting().empty());
  q.transport.advance(milliseconds(50));
  CHECK(q.transport.waiting() == Paths{"/a"});
  q.transport.answer(fs::system_error_of(ECONNRESET, "transfer"));
  q.transport.advance(milliseconds(100));
  CHECK(q.transport.sent().size() == 3);
  CHECK(q.ended.empty());
  q.transport.answer(fake_answer(200));
  CHECK(q.ended == Paths{"/a 200"});
  CHECK(q.stats.counts().retries == 2);
}

TEST_CASE("request_queue: a refused request is not sent again", "[net][queue][unit]") {
  Queue q;
  q.start("/a");
  q.transport.answer(fake_answer(403));
  CHECK(q.ended == Paths{"/a !" + std::to_string(EACCES)});
  q.start("/b");
  q.transport.answer(fs::system_error_of(EPROTO, "TLS certificate"));
  CHECK(q.ended.back() == "/b !" + std::to_string(EPROTO));
  CHECK(q.transport.sent().size() == 2);
}

TEST_CASE("request_queue: a server that never answered is tried a few times",
          "[net][queue][unit]") {
  for (const int error : {ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT}) {
    Queue q;
    q.start("/a");
    for (int attempt = 0; attempt < 10 && q.ended.empty(); ++attempt) {
      q.transport.answer(fs::system_error_of(error, "connect"));
      q.transport.advance(milliseconds(500));
    }
    CHECK(q.ended == Paths{"/a !" + std::to_string(error)});
    CHECK(q.transport.sent().size() == 4);
    CHECK(q.transport.timers() == 0);
  }
}

TEST_CASE("request_queue: a server that only fails is tried a few times", "[net][queue][unit]") {
  Queue q;
  q.start("/a");
  const auto begin = q.transport.now();
  for (int attempt = 0; attempt < 20 && q.ended.empty(); ++attempt) {
    q.transport.answer(fake_answer(attempt % 2 == 0 ? 500 : 503));
    q.transport.advance(milliseconds(500));
  }
  CHECK(q.ended == Paths{"/a !" + std::to_string(EIO)});
  CHECK(q.transport.now() - begin < seconds(10));
  CHECK(q.transport.timers() == 0);
}

TEST_CASE("request_queue: a server that names a pause gets it", "[net][queue][unit]") {
  Queue q;
  q.get_first_answer();
  auto answer = fake_answer(503);
  answer.headers.add("Retry-After", "20");
  q.start("/a");
  q.transport.answer(answer);
  q.transport.advance(seconds(19));
  CHECK(q.transport.waiting().empty());
  q.transport.advance(seconds(2));
  CHECK(q.transport.waiting() == Paths{"/a"});
  // A pause that is longer than the time of the call ends it at once.
  answer.headers.set("Retry-After", "3600");
  q.transport.answer(answer);
  CHECK(q.ended == Paths{"/a !" + std::to_string(EIO)});
}

TEST_CASE("retry_rules: Retry-After is a number or a date of the server's clock",
          "[net][queue][unit]") {
  const auto wish = [](const std::string& text) {
    auto answer = fake_answer(503);
    answer.headers.add("Date", "Wed, 21 Oct 2015 07:28:00 GMT");
    answer.headers.add("Retry-After", text);
    return retry_after(answer);
  };
  CHECK(wish("7") == seconds(7));
  CHECK(wish("Wed, 21 Oct 2015 07:28:30 GMT") == seconds(30));
  CHECK(wish("Wed, 21 Oct 2015 07:27:30 GMT") == seconds(0));
  CHECK_FALSE(wish("soon"));
  CHECK_FALSE(wish("-1"));
  CHECK_FALSE(retry_after(fake_answer(503)));
}

TEST_CASE("request_queue: an outage is logged once, and its end", "[net][queue][unit]") {
  Queue q;
  q.get_first_answer();
  q.start("/a");
  for (int second = 0; second < 30; ++second) {
    q.transport.answer(fs::system_error_of(ECONNREFUSED, "connect"));
    q.transport.advance(seconds(1));
  }
  CHECK(q.log.log.lines().size() == 1);
  q.transport.advance(seconds(5));
  q.transport.answer(fake_answer(200));
  const auto lines = q.log.log.lines();
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with("warning: server: the server is gone since "));
  CHECK(lines[0].contains("connect: Connection refused"));
  CHECK(lines[1].starts_with("info: server: the server is back after 3"));
}

TEST_CASE("request_queue: failures of one object are no outage", "[net][queue][unit]") {
  Queue q;
  q.get_first_answer();
  q.start("/broken");
  for (int second = 0; second < 30; ++second) {
    q.transport.answer(fake_answer(500), "/broken");
    q.start("/good");
    q.transport.answer(fake_answer(200), "/good");
    q.transport.advance(seconds(1));
  }
  CHECK(q.log.log.lines().empty());
}

TEST_CASE("request_queue: the log says why a call failed", "[net][queue][unit]") {
  Queue q;
  auto call = call_for("/a");
  call.name = "GET bucket/a";
  call.judge = [](const HttpAnswer&) {
    return Verdict{Verdict::Kind::failed, fs::system_error_of(EIO, "status").error(),
                   "Odd (a reason)"};
  };
  q.queue.start(call, [](const Result<HttpAnswer>&) {});
  auto answer = fake_answer(418);
  answer.headers.add("x-amz-request-id", "ID7");
  q.transport.answer(answer);
  CHECK(q.log.log.lines() ==
        Paths{"warning: server: GET bucket/a: 418 Odd (a reason): status: Input/output error, "
              "request id ID7, attempt 1"});
  NetStats::Counts counts;
  q.queue.add_to(counts);
  CHECK(counts.last_error.starts_with("GET bucket/a: 418"));
  CHECK(counts.since_answer == std::chrono::nanoseconds(0));
}

TEST_CASE("request_queue: the statistics tell what is under way", "[net][queue][unit]") {
  Queue q;
  q.start("/a");
  q.transport.advance(milliseconds(700));
  q.start("/b");
  NetStats::Counts counts;
  q.queue.add_to(counts);
  CHECK(counts.in_flight == 2);
  CHECK(counts.waiting == 0);
  CHECK(counts.limit == kSlots);
  CHECK(counts.oldest == milliseconds(700));
  CHECK_FALSE(counts.since_answer);
}

TEST_CASE("request_queue: a minute in all, then EIO", "[net][queue][unit]") {
  Queue q;
  q.get_first_answer();
  q.start("/a");
  for (int second = 0; second < 61 && q.ended.empty(); ++second) {
    q.transport.answer(fs::system_error_of(ECONNREFUSED, "connect"));
    q.transport.advance(seconds(1));
  }
  CHECK(q.ended == Paths{"/a !" + std::to_string(EIO)});
  CHECK(q.transport.sent().size() > 5);
  CHECK(q.transport.sent().size() < 40);  // with longer and longer pauses
  CHECK(q.transport.timers() == 0);
}

TEST_CASE("request_queue: a server that comes back within the minute is used",
          "[net][queue][unit]") {
  Queue q;
  q.get_first_answer();
  q.start("/a");
  for (int second = 0; second < 50; ++second) {
    q.transport.answer(fs::system_error_of(ECONNREFUSED, "connect"));
    q.transport.advance(seconds(1));
  }
  q.transport.advance(seconds(5));
  q.transport.answer(fake_answer(200));
  CHECK(q.ended == Paths{"/a 200"});
}

TEST_CASE("request_queue: an attempt has no more time than the call", "[net][queue][unit]") {
  Queue q;
  q.start("/a");
  CHECK(q.transport.front().timeout == milliseconds(60'000));
  q.transport.advance(seconds(2));  // before it is hedged
  q.transport.answer(fake_answer(500));
  q.transport.advance(milliseconds(100));
  CHECK(q.transport.front().timeout < milliseconds(58'100));
}

TEST_CASE("request_queue: demand is sent before prefetch", "[net][queue][unit]") {
  Queue q;
  for (std::size_t i = 0; i < kSlots; ++i) q.start("/p", Priority::prefetch);
  // A quarter of the slots is kept for readers.
  CHECK(q.transport.waiting().size() == kPrefetches);
  constexpr auto kKept = kSlots - kPrefetches;
  for (std::size_t i = 0; i < kKept + 2; ++i) q.start("/d");
  CHECK(q.transport.waiting().size() == kSlots);
  q.transport.answer(fake_answer(200), "/p");  // the limit grows by one
  CHECK(std::ranges::count(q.transport.waiting(), "/d") == kKept + 2);
}

TEST_CASE("request_queue: a prefetch that a reader waits for is raised", "[net][queue][unit]") {
  Queue q;
  for (std::size_t i = 0; i < kPrefetches; ++i) q.start("/p", Priority::prefetch);
  const auto wanted = q.start("/w", Priority::prefetch);
  CHECK(std::ranges::count(q.transport.sent(), "/w") == 0);
  q.queue.raise(wanted);
  CHECK(std::ranges::count(q.transport.sent(), "/w") == 1);
  q.queue.raise(wanted);
  CHECK(std::ranges::count(q.transport.sent(), "/w") == 1);
  q.transport.answer(fake_answer(200), "/w");
  CHECK(q.ended == Paths{"/w 200"});
}

TEST_CASE("request_queue: a prefetch that waits to be sent again is raised", "[net][queue][unit]") {
  Queue q;
  const auto wanted = q.start("/w", Priority::prefetch);
  q.transport.answer(fake_answer(500), "/w");
  for (std::size_t i = 0; i < kPrefetches; ++i) q.start("/p", Priority::prefetch);
  q.transport.advance(milliseconds(100));  // the pause is over, and no slot for a prefetch is free
  CHECK(std::ranges::count(q.transport.sent(), "/w") == 1);
  q.queue.raise(wanted);
  CHECK(std::ranges::count(q.transport.sent(), "/w") == 2);
  q.transport.answer(fake_answer(200), "/w");
  CHECK(q.ended == Paths{"/w 200"});
}

TEST_CASE("request_queue: a slot that is free again is used", "[net][queue][unit]") {
  Queue q;
  for (std::size_t i = 0; i < kSlots + 4; ++i) q.start("/a");
  CHECK(q.transport.waiting().size() == kSlots);
  while (!q.transport.waiting().empty()) q.transport.answer(fake_answer(200));
  CHECK(q.ended.size() == kSlots + 4);
}

TEST_CASE("request_queue: a server with too much to do gets less", "[net][queue][unit]") {
  Queue q;
  constexpr auto kCalls = kSlots * 5 / 2;
  for (std::size_t i = 0; i < kCalls; ++i) q.start("/a");
  for (std::size_t i = 0; i < kSlots; ++i) q.transport.answer(fake_answer(503));
  // All of these were sent before the first complaint, so they count once.
  CHECK(q.queue.limit() == kSlots / 2);
  q.transport.advance(milliseconds(200));
  CHECK(q.transport.waiting().size() == kSlots / 2);
  while (q.ended.size() < kCalls) {
    q.transport.answer(fake_answer(200));
    q.transport.advance(milliseconds(1));
  }
  CHECK(q.queue.limit() > kSlots / 2);
  CHECK(q.queue.limit() < kSlots);
}

TEST_CASE("request_queue: a request that stalls is raced by a second", "[net][queue][unit]") {
  Queue q;
  for (int i = 0; i < 64; ++i) {
    q.start("/fast");
    q.transport.answer(fake_answer(200));
  }
  q.ended.clear();
  q.start("/slow");
  q.transport.advance(seconds(1));
  CHECK(q.transport.waiting() == Paths{"/slow", "/slow"});
  CHECK(q.stats.counts().hedges == 1);
  q.transport.answer(fake_answer(200));
  CHECK(q.ended == Paths{"/slow 200"});
  CHECK(q.transport.waiting().empty());
  CHECK(q.transport.cancelled() == 1);
}

TEST_CASE("request_queue: of two that race, one may fail", "[net][queue][unit]") {
  Queue q;
  q.start("/a");
  q.transport.advance(seconds(3));
  REQUIRE(q.transport.waiting().size() == 2);
  q.transport.answer(fs::system_error_of(ECONNRESET, "transfer"));
  q.transport.advance(seconds(1));
  CHECK(q.transport.waiting().size() == 1);  // no third
  q.transport.answer(fake_answer(200));
  CHECK(q.ended == Paths{"/a 200"});
}

TEST_CASE("request_queue: when everything is slow, little is sent twice", "[net][queue][unit]") {
  Queue q;
  for (int i = 0; i < 100; ++i) q.start("/a");
  while (q.ended.size() < 100) {
    q.transport.advance(seconds(4));
    q.transport.answer(fake_answer(200));
  }
  CHECK(q.stats.counts().hedges <= 8);
}

TEST_CASE("request_queue: objects that stall leave the server to others", "[net][queue][unit]") {
  Queue q;
  q.get_first_answer();
  for (int i = 0; i < 60; ++i) q.start("/stalled");
  q.start("/healthy");
  for (int second = 0; second < 15; ++second) q.transport.advance(seconds(1));
  q.transport.answer(fake_answer(200), "/healthy");
  CHECK(q.ended == Paths{"/healthy 200"});
  // Each stalled request that fails is sent again, after the calls that were not sent yet.
  while (std::ranges::count(q.transport.waiting(), "/stalled") > 0) {
    q.transport.answer(fs::system_error_of(ETIMEDOUT, "transfer"), "/stalled");
  }
  for (int i = 0; i < 20; ++i) q.start("/later");
  q.transport.advance(milliseconds(50));
  while (std::ranges::count(q.transport.waiting(), "/later") > 0) {
    q.transport.answer(fake_answer(200), "/later");
  }
  CHECK(std::ranges::count(q.ended, "/later 200") == 20);
}

TEST_CASE("request_queue: a server that is slow for everything gets a bounded number of requests",
          "[net][queue][unit]") {
  Queue q;
  q.get_first_answer();
  for (int i = 0; i < 500; ++i) q.start("/a");
  for (int second = 0; second < 30; ++second) q.transport.advance(seconds(1));
  CHECK(q.transport.waiting().size() <= 64 + q.queue.limit() + 8);
  while (!q.transport.waiting().empty()) q.transport.answer(fake_answer(200));
  CHECK(q.ended.size() == 500);
  CHECK(q.transport.timers() == 0);
}

TEST_CASE("request_queue: a cancelled call ends without a word", "[net][queue][unit]") {
  Queue q;
  const auto running = q.start("/a");
  CHECK(q.queue.cancel(running));
  CHECK_FALSE(q.queue.cancel(running));
  CHECK(q.transport.waiting().empty());
  for (std::size_t i = 0; i < kSlots; ++i) q.start("/b");
  const auto queued = q.start("/c");
  CHECK(q.queue.cancel(queued));
  while (!q.transport.waiting().empty()) q.transport.answer(fake_answer(200));
  CHECK(q.ended.size() == kSlots);
  CHECK(std::ranges::count(q.transport.sent(), "/c") == 0);
  CHECK(q.transport.timers() == 0);
}

TEST_CASE("request_queue: a request that cannot be made yet is made later", "[net][queue][unit]") {
  Queue q;
  bool ready = false;
  auto call = call_for("/a");
  call.make = [&, make = call.make]() -> Result<HttpRequest> {
    if (!ready) return fs::system_error_of(EAGAIN, "credentials");
    return make();
  };
  std::optional<int> status;
  q.queue.start(call,
                [&](const Result<HttpAnswer>& result) { status = result ? result->status : -1; });
  // Longer than a server that never answers is tried.
  q.transport.advance(seconds(20));
  CHECK(q.transport.sent().empty());
  CHECK_FALSE(status);
  ready = true;
  q.transport.advance(seconds(10));
  q.transport.answer(fake_answer(200));
  CHECK(status == 200);
}

TEST_CASE("request_queue: a wait ends when its operation is interrupted", "[net][queue][race]") {
  test::HttpServer server([](const test::ServedRequest&) {
    return test::ServedAnswer{"", test::ServedAnswer::Then::stall};
  });
  NetStats stats;
  test::QuietHealth log;
  const auto network = test::running_network();
  RequestQueue queue(*network, stats, log.health);
  auto call = call_for("/");
  call.make = [&]() -> Result<HttpRequest> {
    HttpRequest request;
    request.url = *parse_url(server.url());
    return request;
  };
  int error = 0;
  test::finish_in_time("an interrupted wait", [&] {
    const fs::InterruptScope scope([&] { return !server.requests().empty(); });
    const auto result = queue.run(call);
    error = result ? 0 : result.error().sys;
  });
  CHECK(error == EINTR);
  network->stop();
}

TEST_CASE("request_queue: many callers at once, with failures", "[net][queue][race]") {
  std::atomic<int> served{0};
  test::HttpServer server([&](const test::ServedRequest& request) {
    const int number = served.fetch_add(1);
    if (number % 5 == 1) return test::served(503);
    if (number % 7 == 2) return test::ServedAnswer{"", test::ServedAnswer::Then::reset};
    return test::served(200, request.target);
  });
  NetStats stats;
  test::QuietHealth log;
  const auto network = test::running_network();
  RequestQueue queue(*network, stats, log.health);
  std::atomic<int> right{0};
  test::on_threads(8, [&](std::size_t thread) {
    for (int i = 0; i < 20; ++i) {
      const auto target = "/" + std::to_string(thread) + "/" + std::to_string(i);
      auto call = call_for(target);
      call.make = [&]() -> Result<HttpRequest> {
        HttpRequest request;
        request.url = *parse_url(server.url() + target);
        return request;
      };
      const auto answer = queue.run(call);
      if (answer && answer->text() == target) right.fetch_add(1);
    }
  });
  CHECK(right.load() == 160);
  CHECK(stats.counts().retries > 0);
  network->stop();
}

TEST_CASE("interrupt: the innermost scope of the thread counts", "[net][queue][unit]") {
  CHECK_FALSE(fs::interrupted());
  const fs::InterruptScope outer([] { return true; });
  CHECK(fs::interrupted());
  {
    const fs::InterruptScope inner([] { return false; });
    CHECK_FALSE(fs::interrupted());
  }
  CHECK(fs::interrupted());
}

}  // namespace
}  // namespace framefs::net::request_queue_test
