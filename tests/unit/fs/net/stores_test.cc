#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "fs/core/interrupt.h"
#include "fs/net/network_thread.h"
#include "fs/net/range_scheduler.h"
#include "fs/net/remote_file.h"
#include "fs/net/s3_store.h"
#include "fs/net/web_store.h"
#include "tests/support/catch.h"
#include "tests/support/http_server.h"
#include "tests/support/network.h"
#include "tests/support/temp_directory.h"

namespace framefs::net {
namespace {

using test::HttpServer;
using test::served;
using test::served_range;
using test::ServedAnswer;
using test::ServedRequest;

// Everything that a store needs.
struct Net {
  NetStats stats;
  ServerClock clock;
  std::unique_ptr<NetworkThread> network = test::running_network();
  RequestQueue queue{*network, stats};
  RangeScheduler scheduler{queue, stats, network->bodies(), nullptr, {}};
  std::unique_ptr<CredentialKeeper> keeper = CredentialKeeper::anonymous();

  ~Net() { network->stop(); }
  void sign_with(const std::string& key) {
    class Fixed final : public CredentialSource {
     public:
      explicit Fixed(std::string key) : key_(std::move(key)) {}
      Result<std::optional<Credentials>> fetch() override {
        Credentials made;
        made.access_key = key_;
        made.secret_key = Secret("secret");
        return made;
      }

     private:
      const std::string key_;
    };
    keeper = std::make_unique<CredentialKeeper>(std::make_unique<Fixed>(key),
                                                [this] { return clock.now(); });
    REQUIRE(keeper->start());
  }
  std::unique_ptr<S3Store> s3(const std::string& endpoint, const std::string& prefix = "") {
    return *S3Store::make(queue, *keeper, clock,
                          {.bucket = "buck", .prefix = prefix, .endpoint = endpoint});
  }
  std::unique_ptr<WebStore> web(const std::string& url,
                                WebStore::Listing listing = WebStore::Listing::page) {
    return std::make_unique<WebStore>(queue, *parse_url(url), listing);
  }
  // The object's bytes from `offset` on; "!errno" if it cannot be read.
  std::string read(const RemoteOpened& opened, std::uint64_t offset, std::size_t size) {
    scheduler.keep(opened.object->version(), opened.part);
    const RemoteFile file(scheduler, opened.object);
    std::string bytes(size, '\0');
    const auto status = file.read_at(offset, std::as_writable_bytes(std::span(bytes)));
    return status ? bytes : "!" + std::to_string(status.error().sys);
  }
};

std::string long_content() {
  std::string content;
  for (int i = 0; content.size() < 300'000; ++i) content += std::to_string(i) + ",";
  return content;
}

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
  REQUIRE(entries->size() == 2);
  CHECK((*entries)[0].name == "a");
  CHECK((*entries)[1].name == "b");
  CHECK((*entries)[1].is_directory);
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

TEST_CASE("web_store: one file", "[net][web][unit]") {
  const auto content = long_content();
  HttpServer server([&](const ServedRequest& request) {
    return served_range(request, content, {{"ETag", "\"e\""}});
  });
  Net net;
  const auto store = net.web(server.url() + "/data/x.b2frame?token=1");
  const auto entry = store->stat("");
  REQUIRE(entry);
  CHECK_FALSE(entry->is_directory);
  CHECK(entry->size == content.size());
  const auto opened = store->open("");
  REQUIRE(opened);
  CHECK(net.read(*opened, 250'000, 100) == content.substr(250'000, 100));
  for (const auto& request : server.requests()) {
    CHECK(request.target == "/data/x.b2frame?token=1");
  }
}

TEST_CASE("web_store: one file whose URL allows GET only", "[net][web][unit]") {
  const auto content = long_content();
  HttpServer server([&](const ServedRequest& request) {
    const bool is_allowed = request.method == "GET" && request.target == "/x.b2frame?sig=1";
    return is_allowed ? served_range(request, content, {{"ETag", "\"e\""}}) : served(403);
  });
  Net net;
  const auto entry = net.web(server.url() + "/x.b2frame?sig=1")->stat("");
  REQUIRE(entry);
  CHECK_FALSE(entry->is_directory);
  CHECK(entry->size == content.size());
  CHECK(entry->etag == "\"e\"");
}

TEST_CASE("web_store: a folder of a server that refuses HEAD", "[net][web][unit]") {
  HttpServer server([](const ServedRequest& request) {
    if (request.method == "HEAD") return served(403);
    if (request.target == "/d") return served(301, "", {{"Location", "/d/"}});
    if (request.target != "/d/") return served(404);
    return served(200, R"(<a href="b">b</a>)", {{"Content-Type", "text/html"}});
  });
  Net net;
  CHECK(net.web(server.url())->stat("d")->is_directory);
  CHECK(net.web(server.url() + "/d")->stat("")->is_directory);
}

TEST_CASE("web_store: folders by JSON, by links and by manifest", "[net][web][unit]") {
  HttpServer server([&](const ServedRequest& request) {
    if (request.target == "/json/") {
      return served(200, R"([{"name":"a","type":"file","size":3,"mtime":""}])",
                    {{"Content-Type", "application/json"}});
    }
    if (request.target == "/html/d/") {
      return served(200, R"(<a href="b">b</a>)", {{"Content-Type", "text/html;charset=utf-8"}});
    }
    if (request.target == "/html/d") return served(301, "", {{"Location", "/html/d/"}});
    if (request.target == "/man/framefs-manifest.json") {
      return served(200, R"({"framefs-manifest": 1, "files": [{"path": "d/c", "size": 4}]})");
    }
    return served(request.target.starts_with("/man/") ? 403 : 404);
  });
  Net net;
  const auto json = net.web(server.url() + "/json/")->list("");
  REQUIRE((json && json->size() == 1));
  CHECK((*json)[0].size == 3);
  const auto html = net.web(server.url() + "/html");
  CHECK(html->stat("d")->is_directory);
  const auto links = html->list("d");
  REQUIRE((links && links->size() == 1));
  CHECK((*links)[0].name == "b");
  const auto manifest = net.web(server.url() + "/man");
  CHECK(manifest->stat("")->is_directory);
  const auto listed = manifest->list("d");
  REQUIRE((listed && listed->size() == 1));
  CHECK((*listed)[0].name == "c");
  CHECK(html->list("none").error().sys == ENOENT);
}

TEST_CASE("web_store: one folder that is refused leaves the other listings alone",
          "[net][web][unit]") {
  HttpServer server([&](const ServedRequest& request) {
    const bool is_old = request.target == "/framefs-manifest.json";
    if (is_old) return served(200, R"({"framefs-manifest": 1, "files": [{"path": "old"}]})");
    if (request.target != "/") return served(403);
    return served(200, R"([{"name":"new","type":"file","size":3}])",
                  {{"Content-Type", "application/json"}});
  });
  Net net;
  const auto store = net.web(server.url());
  CHECK(store->list("private").error().sys == EACCES);
  const auto listed = store->list("");
  REQUIRE((listed && listed->size() == 1));
  CHECK((*listed)[0].name == "new");
}

TEST_CASE("web_store: each listing of the root uses the present manifest", "[net][web][unit]") {
  std::atomic<const char*> name{"one"};
  HttpServer server([&](const ServedRequest& request) {
    if (request.target != "/framefs-manifest.json") return served(404);
    const auto etag = "\"" + std::string(name.load()) + "\"";
    if (request.header("if-none-match") == etag) return served(304);
    return served(
        200,
        R"({"framefs-manifest": 1, "files": [{"path": "d/)" + std::string(name.load()) + R"("}]})",
        {{"ETag", etag}});
  });
  Net net;
  const auto store = net.web(server.url());
  const auto name_in = [&](const char* folder) {
    const auto listed = store->list(folder);
    return listed && listed->size() == 1 ? (*listed)[0].name : "";
  };
  CHECK(name_in("") == "d");
  CHECK(name_in("d") == "one");
  CHECK(server.requests().size() == 2);
  CHECK(name_in("") == "d");
  CHECK(server.requests().back().header("if-none-match") == "\"one\"");
  CHECK(name_in("d") == "one");
  name.store("two");
  CHECK(name_in("") == "d");
  CHECK(name_in("d") == "two");
}

TEST_CASE("web_store: redirects lead somewhere, not anywhere", "[net][web][unit]") {
  const auto content = long_content();
  HttpServer far([&](const ServedRequest& request) {
    return served_range(request, content, {{"ETag", "\"e\""}});
  });
  HttpServer server([&](const ServedRequest& request) {
    if (request.target == "/loop") return served(302, "", {{"Location", "/loop"}});
    if (request.target == "/file") return served(302, "", {{"Location", "file:///etc/passwd"}});
    if (request.target == "/nowhere") return served(302);
    return served(302, "", {{"Location", far.url() + "/real"}});
  });
  Net net;
  const auto store = net.web(server.url());
  const auto opened = store->open("x");
  REQUIRE(opened);
  CHECK(net.read(*opened, 250'000, 100) == content.substr(250'000, 100));
  CHECK(server.requests().size() == 1);  // the redirection is remembered
  CHECK(store->open("loop").error().sys == EIO);
  CHECK(store->open("file").error().sys == EIO);
  CHECK(store->open("nowhere").error().sys == EIO);
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

TEST_CASE("web_store: a place that was for a while only is asked for again", "[net][web][unit]") {
  const auto content = long_content();
  std::atomic<int> leads{0};
  HttpServer server([&](const ServedRequest& request) {
    if (request.target == "/x") {
      return served(302, "", {{"Location", "/signed" + std::to_string(leads.fetch_add(1) + 1)}});
    }
    const bool is_valid = request.target == "/signed" + std::to_string(leads.load());
    return is_valid ? served_range(request, content, {{"ETag", "\"e\""}}) : served(403);
  });
  Net net;
  const auto opened = net.web(server.url())->open("x");
  REQUIRE(opened);
  leads.fetch_add(1);  // the link that was given out expires
  const auto store = net.web(server.url());
  CHECK(net.read(*opened, 250'000, 100) == content.substr(250'000, 100));
}

TEST_CASE("web_store: a server without ranges is refused", "[net][web][unit]") {
  const auto content = long_content();
  HttpServer server(
      [&](const ServedRequest&) { return served(200, content, {{"ETag", "\"e\""}}); });
  Net net;
  const auto opened = net.web(server.url())->open("x");
  REQUIRE_FALSE(opened);
  CHECK(opened.error().sys == EIO);
}

TEST_CASE("web_store: DAV", "[net][web][unit]") {
  HttpServer server([&](const ServedRequest& request) {
    if (request.method != "PROPFIND" || request.body.empty()) return served(405);
    if (request.target == "/d") return served(301, "", {{"Location", "/d/"}});
    if (request.target != "/d/") return served(404);
    const std::string self =
        "<D:response><D:href>/d/</D:href><D:propstat><D:prop><D:resourcetype><D:collection/>"
        "</D:resourcetype></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>";
    const std::string file =
        "<D:response><D:href>/d/f</D:href><D:propstat><D:prop><D:resourcetype/>"
        "<D:getcontentlength>5</D:getcontentlength></D:prop><D:status>HTTP/1.1 200 OK</D:status>"
        "</D:propstat></D:response>";
    return served(207, "<D:multistatus xmlns:D=\"DAV:\">" + self +
                           (request.header("depth") == "1" ? file : "") + "</D:multistatus>");
  });
  Net net;
  const auto store = net.web(server.url(), WebStore::Listing::dav);
  CHECK(store->stat("d")->is_directory);
  const auto entries = store->list("d");
  REQUIRE((entries && entries->size() == 1));
  CHECK((*entries)[0].name == "f");
  CHECK((*entries)[0].size == 5);
  CHECK(store->stat("none").error().sys == ENOENT);
}

}  // namespace
}  // namespace framefs::net
