#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string>

#include "fs/net/store/object_store.h"
#include "tests/support/catch.h"
#include "tests/support/http_server.h"
#include "tests/support/store_network.h"
#include "tests/support/temp_directory.h"

namespace framefs::net::stores_test {
namespace {

using test::HttpServer;
using test::long_content;
using test::served;
using test::served_range;
using test::ServedRequest;
using Net = test::StoreNetwork;

TEST_CASE("stores: open of a known version fetches any range, or fails",
          "[net][s3][web_store][unit]") {
  const auto content = long_content();
  std::atomic<bool> ignores_conditions{false};
  std::atomic<const char*> etag{"\"e\""};
  std::atomic<std::size_t> size{content.size()};
  HttpServer server([&](const ServedRequest& request) {
    if (!ignores_conditions && request.header("if-match") != etag.load()) return served(412);
    return served_range(request, content.substr(0, size), {{"ETag", etag.load()}});
  });
  Net net;
  HttpHeaders headers;
  headers.add("ETag", "\"e\"");
  // Not in the tail, of which a read fetches all.
  constexpr std::uint64_t kAt = 100'000;
  OpenRequest request{.range = {kAt, 1000}};
  request.version = make_version("store", "x", content.size(), headers);
  std::vector<std::unique_ptr<ObjectStore>> stores;
  stores.push_back(net.s3(server.url()));
  stores.push_back(net.web(server.url()));
  for (const auto& store : stores) {
    const auto opened = store->open("x", request);
    REQUIRE(opened);
    CHECK(opened->part.offset == kAt);
    CHECK(opened->object->version().size == content.size());
    CHECK(opened->object->version().etag == "\"e\"");
    const auto requests = server.requests().size();
    CHECK(net.read(*opened, kAt + 500, 500) == content.substr(kAt + 500, 500));
    CHECK(server.requests().size() == requests);
    const auto is_stale = [&] {
      const auto again = store->open("x", request);
      return !again && again.error().sys == ESTALE;
    };
    etag = "\"other\"";
    CHECK(is_stale());
    ignores_conditions = true;
    CHECK(is_stale());
    etag = "\"e\"";
    size = content.size() - 1;
    CHECK(is_stale());
    size = 10;  // the range is behind the end
    CHECK(is_stale());
    size = content.size();
    ignores_conditions = false;
  }
}

TEST_CASE("stores: opens share nothing if the server tells no versions apart",
          "[net][s3][web_store][unit]") {
  std::atomic<char> letter{'a'};
  HttpServer server([&](const ServedRequest& request) {
    return served_range(request, std::string(200'000, letter.load()));
  });
  Net net;
  std::vector<std::unique_ptr<ObjectStore>> stores;
  stores.push_back(net.s3(server.url()));
  stores.push_back(net.web(server.url()));
  for (const auto& store : stores) {
    for (const char now : {'a', 'b'}) {
      letter.store(now);
      const auto opened = store->open("x");
      REQUIRE(opened);
      CHECK(net.read(*opened, 10, 3) == std::string(3, now));
      CHECK(net.read(*opened, 100'000, 3) == std::string(3, now));
    }
  }
}

TEST_CASE("stores: a login of ~/.netrc goes to the server of the URL only",
          "[net][s3][web_store][unit]") {
  const test::TempDirectory home;
  std::ofstream(home.path() / ".netrc") << "default login user password secret\n";
  const char* const before = std::getenv("HOME");
  const std::string old = before != nullptr ? before : "";
  REQUIRE(::setenv("HOME", home.path().c_str(), 1) == 0);
  {
    HttpServer far([](const ServedRequest& request) { return served_range(request, "content"); });
    HttpServer server([&](const ServedRequest& request) {
      if (request.target != "/led") return served_range(request, "content");
      return served(302, "", {{"Location", far.url() + "/x"}});
    });
    Net net;
    const auto web = net.web(server.url());
    REQUIRE(web->open("x"));
    CHECK_FALSE(server.requests().back().header("authorization").empty());
    REQUIRE(web->open("led"));
    CHECK(far.requests().back().header("authorization").empty());
    REQUIRE(net.s3(server.url())->open("x"));
    CHECK(server.requests().back().header("authorization").empty());
  }
  ::setenv("HOME", old.c_str(), 1);
}

}  // namespace
}  // namespace framefs::net::stores_test
