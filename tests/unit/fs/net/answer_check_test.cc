#include "fs/net/http/answer_check.h"

#include <cerrno>
#include <functional>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/fake_transport.h"

namespace framefs::net::answer_check_test {
namespace {

using Kind = Verdict::Kind;

ObjectVersion strong_version() {
  HttpHeaders headers;
  headers.add("ETag", "\"one\"");
  return make_version("s3://bucket", "key", 1000, headers);
}

HttpAnswer right_answer() {
  auto answer = test::fake_answer(206, "0123456789");
  answer.headers.add("ETag", "\"one\"");
  answer.headers.add("Content-Range", "bytes 100-109/1000");
  return answer;
}

Verdict check(const HttpAnswer& answer) {
  return check_range_answer(answer, strong_version(), {100, 10});
}

TEST_CASE("answer_check: the right answer", "[net][answer_check][unit]") {
  CHECK(check(right_answer()).kind == Kind::done);
  auto unknown_total = right_answer();
  unknown_total.headers.set("content-range", "bytes 100-109/*");
  CHECK(check(unknown_total).kind == Kind::done);
}

TEST_CASE("answer_check: an object that is another one now is stale", "[net][answer_check][unit]") {
  const auto is_stale = [](const std::function<void(HttpAnswer&)>& change) {
    auto answer = right_answer();
    change(answer);
    const auto verdict = check(answer);
    return verdict.kind == Kind::failed && verdict.error.sys == ESTALE;
  };
  CHECK(is_stale([](auto& a) { a.status = 412; }));
  CHECK(is_stale([](auto& a) { a.status = 416; }));
  CHECK(is_stale([](auto& a) { a.status = 404; }));
  CHECK(is_stale([](auto& a) { a.headers.set("etag", "\"two\""); }));
  CHECK(is_stale([](auto& a) { a.headers.set("content-range", "bytes 100-109/1001"); }));
}

TEST_CASE("answer_check: an answer that breaks the rules is not believed",
          "[net][answer_check][unit]") {
  const auto is_doubtful = [](const std::function<void(HttpAnswer&)>& change) {
    auto answer = right_answer();
    change(answer);
    const auto verdict = check(answer);
    return verdict.kind == Kind::doubtful && verdict.error.sys == EIO;
  };
  CHECK(is_doubtful([](auto& a) { a.headers.remove("etag"); }));
  CHECK(is_doubtful([](auto& a) { a.headers.remove("content-range"); }));
  CHECK(is_doubtful([](auto& a) { a.headers.set("content-range", "bytes 101-110/1000"); }));
  CHECK(is_doubtful([](auto& a) { a.headers.set("content-range", "bytes 100-110/1000"); }));
  CHECK(is_doubtful([](auto& a) { a.headers.set("content-range", "nonsense"); }));
  CHECK(is_doubtful([](auto& a) { a.body.pop_back(); }));
  CHECK(is_doubtful([](auto& a) { a.body.push_back({}); }));
  CHECK(is_doubtful([](auto& a) { a.body_too_long = true; }));
}

TEST_CASE("answer_check: a range of a pinned version may be of an encoded object",
          "[net][answer_check][unit]") {
  for (const auto* const coding : {"aws-chunked", "gzip"}) {
    auto answer = right_answer();
    answer.headers.add("content-encoding", coding);
    CHECK(check(answer).kind == Kind::done);
    answer.headers.set("etag", "\"other\"");
    CHECK(check(answer).error.sys == ESTALE);
  }
  HttpHeaders headers;
  headers.add("ETag", "\"one\"");
  const auto version = make_version("http://h", "key", 10, headers);
  auto whole = test::fake_answer(200, "0123456789");
  whole.headers.add("ETag", "\"one\"");
  whole.headers.add("content-encoding", "gzip");
  CHECK(check_range_answer(whole, version, {0, 10}).kind == Kind::doubtful);
}

TEST_CASE("answer_check: a server without ranges is asked once", "[net][answer_check][unit]") {
  HttpHeaders headers;
  headers.add("ETag", "\"one\"");
  const auto version = make_version("http://h", "key", 10, headers);
  auto whole = test::fake_answer(200, "0123456789");
  whole.headers.add("ETag", "\"one\"");
  CHECK(check_range_answer(whole, version, {0, 9}).kind == Kind::failed);
  whole.headers.add("Accept-Ranges", "bytes");
  CHECK(check_range_answer(whole, version, {0, 9}).kind == Kind::doubtful);
}

TEST_CASE("answer_check: the whole object for a range that is the whole",
          "[net][answer_check][unit]") {
  HttpHeaders headers;
  headers.add("ETag", "\"one\"");
  const auto version = make_version("http://h", "key", 10, headers);
  auto answer = test::fake_answer(200, "0123456789");
  answer.headers.add("ETag", "\"one\"");
  CHECK(check_range_answer(answer, version, {0, 10}).kind == Kind::done);
  CHECK(check_range_answer(answer, version, {0, 9}).kind == Kind::failed);
}

TEST_CASE("answer_check: without a strong ETag the time counts", "[net][answer_check][unit]") {
  HttpHeaders headers;
  headers.add("ETag", "W/\"one\"");
  headers.add("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT");
  const auto version = make_version("http://h", "key", 1000, headers);
  CHECK_FALSE(version.is_strong());
  auto answer = right_answer();
  CHECK(check_range_answer(answer, version, {100, 10}).error.sys == ESTALE);
  // The server calls the ETag strong now.
  answer.headers.add("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT");
  CHECK(check_range_answer(answer, version, {100, 10}).kind == Kind::done);
}

TEST_CASE("answer_check: a weak ETag that changed is another version",
          "[net][answer_check][unit]") {
  HttpHeaders headers;
  headers.add("ETag", "W/\"one\"");
  const auto version = make_version("http://h", "key", 1000, headers);
  auto answer = right_answer();
  answer.headers.set("etag", "W/\"one\"");
  CHECK(check_range_answer(answer, version, {100, 10}).kind == Kind::done);
  answer.headers.set("etag", "W/\"two\"");
  CHECK(check_range_answer(answer, version, {100, 10}).error.sys == ESTALE);
  answer.headers.remove("etag");
  CHECK(check_range_answer(answer, version, {100, 10}).error.sys == ESTALE);
}

TEST_CASE("answer_check: an empty ETag is none", "[net][answer_check][unit]") {
  for (const char* const etag : {"\"\"", "W/\"\"", ""}) {
    HttpHeaders headers;
    headers.add("ETag", etag);
    headers.add("Last-Modified", "Thu, 26 Nov 2026 00:00:00 GMT");
    const auto version = make_version("http://h", "key", 1000, headers);
    CHECK(version.etag.empty());
    auto answer = right_answer();
    answer.headers.set("etag", etag);
    answer.headers.set("last-modified", "Thu, 26 Nov 2026 00:00:00 GMT");
    CHECK(check_range_answer(answer, version, {100, 10}).kind == Kind::done);
  }
}

TEST_CASE("answer_check: statuses", "[net][answer_check][unit]") {
  for (const int status : {408, 500, 502, 504})
    CHECK(verdict_of_status(status).kind == Kind::retry);
  for (const int status : {429, 503}) CHECK(verdict_of_status(status).kind == Kind::slow_down);
  CHECK(verdict_of_status(403).error.sys == EACCES);
  CHECK(verdict_of_status(404).error.sys == ENOENT);
  CHECK(verdict_of_status(418).error.sys == EIO);
}

TEST_CASE("answer_check: a request is pinned to its version", "[net][answer_check][unit]") {
  HttpRequest request;
  pin(request, strong_version(), {5, 10});
  CHECK(request.headers.find("range") == "bytes=5-14");
  CHECK(request.headers.find("if-match") == "\"one\"");
  CHECK(request.max_body_bytes == 10);
}

TEST_CASE("answer_check: Content-Range", "[net][answer_check][unit]") {
  const auto both = parse_content_range("bytes 0-0/1");
  REQUIRE(both);
  CHECK(both->range == ByteRange{0, 1});
  CHECK(both->total == 1);
  CHECK_FALSE(parse_content_range("bytes */12")->range);
  CHECK(parse_content_range("bytes */12")->total == 12);
  for (const auto* const bad : {"", "bytes", "bytes 1-0/5", "bytes 0-1", "bytes 0-1/5x", "0-1/5",
                                "bytes a-b/c", "bytes 0-99999999999999999999/5"}) {
    INFO(bad);
    CHECK_FALSE(parse_content_range(bad));
  }
}

TEST_CASE("object_version: every part of it counts", "[net][object_version][unit]") {
  const auto key = [](const char* store, const char* path, std::uint64_t size, const char* etag) {
    HttpHeaders headers;
    headers.add("ETag", etag);
    return make_version(store, path, size, headers).key;
  };
  const auto one = key("s", "p", 1, "\"e\"");
  CHECK(one == key("s", "p", 1, "\"e\""));
  CHECK(one != key("t", "p", 1, "\"e\""));
  CHECK(one != key("s", "q", 1, "\"e\""));
  CHECK(one != key("s", "p", 2, "\"e\""));
  CHECK(one != key("s", "p", 1, "\"f\""));
  CHECK(one != key("s", "p", 1, "W/\"e\""));
  CHECK(key("s", "p", 1, "W/\"e\"") != key("s", "p", 1, "W/\"f\""));
  CHECK(key("a", "bc", 1, "\"e\"") != key("ab", "c", 1, "\"e\""));
}

}  // namespace
}  // namespace framefs::net::answer_check_test
