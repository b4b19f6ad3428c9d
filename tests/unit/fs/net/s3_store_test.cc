#include "fs/net/store/s3_store.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include "fs/core/threads/interrupt.h"
#include "tests/support/catch.h"
#include "tests/support/http_server.h"
#include "tests/support/store_network.h"

namespace framefs::net::s3_store_test {
namespace {

using test::HttpServer;
using test::long_content;
using test::served;
using test::served_range;
using test::ServedRequest;
using Net = test::StoreNetwork;

TEST_CASE("s3_store: open is one request, with the head", "[net][s3][unit]") {
  const auto content = long_content();
  HttpServer server([&](const ServedRequest& request) {
    return served_range(request, content,
                        {{"ETag", "\"e\""}, {"Last-Modified", "Fri, 24 May 2013 00:00:00 GMT"}});
  });
  Net net;
  const auto store = net.s3(server.url(), "pre/fix");
  const auto opened = store->open("a b+\u00e9/../x~");
  REQUIRE(opened);
  CHECK(opened->object->version().size == content.size());
  CHECK(opened->object->version().etag == "\"e\"");
  CHECK(opened->mtime_ns == 1369353600000000000);
  CHECK(net.read(*opened, 0, 1000) == content.substr(0, 1000));
  REQUIRE(server.requests().size() == 1);
  CHECK(server.requests()[0].target == "/buck/pre/fix/a%20b%2B%C3%A9/../x~");
  CHECK(net.read(*opened, 100'000, 1000) == content.substr(100'000, 1000));
  CHECK(server.requests()[1].header("if-match") == "\"e\"");
}

TEST_CASE("s3_store: small and empty objects", "[net][s3][unit]") {
  HttpServer server([&](const ServedRequest& request) {
    return served_range(request, request.target.ends_with("empty") ? "" : "tiny",
                        {{"ETag", "\"e\""}});
  });
  Net net;
  const auto store = net.s3(server.url());
  const auto tiny = store->open("tiny");
  REQUIRE(tiny);
  CHECK(net.read(*tiny, 0, 4) == "tiny");
  const auto empty = store->open("empty");
  REQUIRE(empty);
  CHECK(empty->object->version().size == 0);
  CHECK(server.requests().size() == 2);
}

// This is the answer of AWS and Ceph: no range has a byte of an empty object.
TEST_CASE("s3_store: an empty object when the server sends no Content-Range", "[net][s3][unit]") {
  HttpServer server([&](const ServedRequest&) {
    return served(416, "<Error><Code>InvalidRange</Code></Error>");
  });
  Net net;
  const auto store = net.s3(server.url());
  const auto empty = store->open("empty");
  REQUIRE(empty);
  CHECK(empty->object->version().size == 0);
  CHECK(empty->part.bytes->empty());
}

TEST_CASE("s3_store: listings of many pages", "[net][s3][unit]") {
  HttpServer server([&](const ServedRequest& request) {
    if (!request.target.contains("prefix=d%2F")) return served(404);
    if (!request.target.contains("continuation-token")) {
      return served(200,
                    "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t/+"
                    "</NextContinuationToken><Contents><Key>d/b</Key><Size>1</Size></Contents>"
                    "</ListBucketResult>");
    }
    if (!request.target.contains("continuation-token=t%2F%2B")) return served(404);
    return served(200,
                  "<ListBucketResult><Contents><Key>d/a</Key><Size>2</Size></Contents>"
                  "<CommonPrefixes><Prefix>d/b/</Prefix></CommonPrefixes></ListBucketResult>");
  });
  Net net;
  const auto entries = net.s3(server.url())->list("d");
  REQUIRE(entries);
  REQUIRE(entries->entries.size() == 2);
  CHECK(entries->entries[0].name == "a");
  CHECK(entries->entries[1].name == "b");
  CHECK(entries->entries[1].is_directory);
}

TEST_CASE("s3_store: a listing whose continuation tokens repeat ends", "[net][s3][corrupt]") {
  HttpServer server([&](const ServedRequest& request) {
    const bool is_first = !request.target.contains("continuation-token=a");
    return served(200, std::string("<ListBucketResult><IsTruncated>true</IsTruncated>") +
                           "<NextContinuationToken>" + (is_first ? "a" : "b") +
                           "</NextContinuationToken></ListBucketResult>");
  });
  Net net;
  CHECK(net.s3(server.url())->list("d").error().kind == Errc::bad_field);
  CHECK(server.requests().size() == 3);
}

TEST_CASE("s3_store: a listing without end can be interrupted", "[net][s3][unit]") {
  std::atomic<int> page{0};
  HttpServer server([&](const ServedRequest&) {
    return served(200, std::string("<ListBucketResult><IsTruncated>true</IsTruncated>") +
                           "<NextContinuationToken>" + std::to_string(page.fetch_add(1)) +
                           "</NextContinuationToken></ListBucketResult>");
  });
  Net net;
  const auto store = net.s3(server.url());
  const fs::InterruptScope scope([&] { return page.load() > 100; });
  CHECK(store->list("d").error().sys == EINTR);
}

TEST_CASE("s3_store: a page is charged to the budget as it arrives", "[net][s3][unit]") {
  std::string keys;
  for (int i = 1000; i < 2000; ++i)
    keys += "<Contents><Key>" + std::to_string(i) + "</Key></Contents>";
  HttpServer server([&](const ServedRequest&) {
    return served(200, "<ListBucketResult>" + keys + "</ListBucketResult>");
  });
  Net net;
  const auto store = net.s3(server.url());
  const auto page_within = [&](ListingBudget& budget) {
    return store->start_page("", "", {budget.charge(), budget.charge()})->wait();
  };
  // The network thread drops the meter of a body shortly after its answer.
  const auto is_soon = [](const ListingBudget& budget, std::uint64_t bytes) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (budget.used() != bytes && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    return budget.used() == bytes;
  };
  ListingBudget enough;
  {
    const auto page = page_within(enough);
    REQUIRE(page);
    CHECK(page->table.size() == 1000);
    CHECK(is_soon(enough, page->table.memory()));
  }
  CHECK(enough.used() == 0);
  // Too little for the body, and too little for the parser.
  for (const auto bytes : {keys.size() / 2, 2 * keys.size()}) {
    ListingBudget small(bytes);
    CHECK(is_over_budget(page_within(small).error()));
    CHECK(is_soon(small, 0));
  }
}

TEST_CASE("s3_store: a folder exists while it has entries", "[net][s3][unit]") {
  HttpServer server([&](const ServedRequest& request) {
    if (request.method == "HEAD") {
      return served(request.target == "/buck/file" ? 200 : 404, "", {{"Content-Length", "77"}});
    }
    const bool is_folder = request.target.contains("prefix=dir%2F");
    return served(200,
                  std::string("<ListBucketResult>") +
                      (is_folder ? "<Contents><Key>dir/x</Key><Size>1</Size></Contents>" : "") +
                      "</ListBucketResult>");
  });
  Net net;
  const auto store = net.s3(server.url());
  CHECK(store->stat("")->is_directory);
  CHECK(store->stat("dir")->is_directory);
  const auto file = store->stat("file");
  REQUIRE(file);
  CHECK_FALSE(file->is_directory);
  CHECK(file->size == 77);
  const auto none = store->stat("none");
  REQUIRE_FALSE(none);
  CHECK(none.error().sys == ENOENT);
}

TEST_CASE("s3_store: an object that was replaced is stale", "[net][s3][unit]") {
  std::atomic<bool> replaced{false};
  const auto content = long_content();
  HttpServer server([&](const ServedRequest& request) {
    const bool is_match = request.header("if-match").empty() || !replaced.load();
    return is_match ? served_range(request, content, {{"ETag", "\"e\""}}) : served(412);
  });
  Net net;
  const auto store = net.s3(server.url());
  const auto opened = store->open("x");
  REQUIRE(opened);
  replaced.store(true);
  CHECK(net.read(*opened, 200'000, 10) == "!" + std::to_string(ESTALE));
  CHECK(net.read(*opened, 10, 10) == content.substr(10, 10));  // from memory: still that version
}

TEST_CASE("s3_store: refusals of a server have their errno", "[net][s3][unit]") {
  std::atomic<int> status{0};
  std::atomic<const char*> body{""};
  HttpServer server([&](const ServedRequest&) { return served(status.load(), body.load()); });
  Net net;
  const auto store = net.s3(server.url());
  const auto error_of = [&](int answered, const char* text) {
    status.store(answered);
    body.store(text);
    const auto opened = store->open("x");
    return opened ? 0 : opened.error().sys;
  };
  CHECK(error_of(404, "<Error><Code>NoSuchKey</Code></Error>") == ENOENT);
  CHECK(error_of(404, "<Error><Code>NoSuchBucket</Code></Error>") == ENOENT);
  CHECK(error_of(403, "<Error><Code>AccessDenied</Code></Error>") == EACCES);
  CHECK(error_of(403, "<Error><Code>SignatureDoesNotMatch</Code></Error>") == EACCES);
  CHECK(error_of(403, "<Error><Code>InvalidAccessKeyId</Code></Error>") == EACCES);
  CHECK(error_of(403, "<Error><Code>InvalidObjectState</Code></Error>") == EACCES);
  CHECK(error_of(301, "") == EIO);
  CHECK(error_of(307, "") == EIO);
  CHECK(error_of(400, "") == EIO);
}

TEST_CASE("s3_store: a clock that is wrong is corrected", "[net][s3][unit]") {
  HttpServer server([&](const ServedRequest& request) {
    // The clock of the server is in 2013.
    const bool is_right = request.header("x-amz-date").starts_with("20130524T");
    if (is_right) return served_range(request, "content", {{"ETag", "\"e\""}});
    return served(403, "<Error><Code>RequestTimeTooSkewed</Code></Error>",
                  {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}});
  });
  Net net;
  net.sign_with("KEY");
  const auto store = net.s3(server.url());
  REQUIRE(store->open("x"));
  CHECK(server.requests().size() == 2);
  REQUIRE(store->open("y"));
  CHECK(server.requests().size() == 3);
}

TEST_CASE("s3_store: a server whose clock no signature suits", "[net][s3][unit]") {
  HttpServer server([&](const ServedRequest&) {
    return served(403, "<Error><Code>RequestTimeTooSkewed</Code></Error>",
                  {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}});
  });
  Net net;
  net.sign_with("KEY");
  const auto opened = net.s3(server.url())->open("x");
  REQUIRE_FALSE(opened);
  CHECK(opened.error().sys == EACCES);
  CHECK(server.requests().size() == 2);
}

TEST_CASE("s3_store: the region that a server names is used", "[net][s3][unit]") {
  const std::string region = GENERATE("eu-west-1", "RegionOne", "zone_2");
  HttpServer server([&](const ServedRequest& request) {
    if (request.header("authorization").contains("/" + region + "/s3/")) {
      return served_range(request, "content", {{"ETag", "\"e\""}});
    }
    return served(400, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>" + region +
                           "</Region></Error>");
  });
  Net net;
  net.sign_with("KEY");
  REQUIRE(net.s3(server.url())->open("x"));
  CHECK(server.requests().size() == 2);
}

TEST_CASE("s3_store: a region with other characters is refused", "[net][s3][corrupt]") {
  HttpServer server([&](const ServedRequest&) {
    return served(400,
                  "<Error><Code>AuthorizationHeaderMalformed</Code><Region>a&#13;&#10;X-Evil: 1"
                  "</Region></Error>");
  });
  Net net;
  net.sign_with("KEY");
  CHECK(net.s3(server.url())->open("x").error().sys == EIO);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("s3_store: nothing is sent to other servers", "[net][s3][unit]") {
  HttpServer other([](const ServedRequest&) { return served(200, "stolen"); });
  HttpServer server([&](const ServedRequest&) {
    return served(307, "", {{"Location", other.url() + "/buck/x"}});
  });
  Net net;
  net.sign_with("KEY");
  const auto opened = net.s3(server.url())->open("x");
  REQUIRE_FALSE(opened);
  CHECK(opened.error().sys == EIO);
  CHECK(other.requests().empty());
}

}  // namespace
}  // namespace framefs::net::s3_store_test
