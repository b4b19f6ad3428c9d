#include "fs/net/store/web_store.h"

#include <atomic>
#include <cerrno>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/http_server.h"
#include "tests/support/store_network.h"

namespace framefs::net::web_store_test {
namespace {

using test::HttpServer;
using test::long_content;
using test::served;
using test::served_range;
using test::ServedRequest;
using Net = test::StoreNetwork;

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

TEST_CASE("web_store: a server without HEAD is asked by GET, each file once", "[net][web][unit]") {
  const auto content = long_content();
  HttpServer server([&](const ServedRequest& request) {
    if (request.method == "HEAD") return served(405);
    if (request.target == "/") {
      return served(200, R"(<a href="b">b</a><a href="c">c</a>)", {{"Content-Type", "text/html"}});
    }
    return served_range(request, content, {{"ETag", "\"e\""}});
  });
  Net net;
  const auto store = net.web(server.url());
  for (const std::string name : {"b", "c"}) {
    const auto entry = store->stat(name);
    REQUIRE(entry);
    CHECK(entry->size == content.size());
    CHECK_FALSE(entry->is_directory);
  }
  CHECK(server.requests().size() == 3);  // the first HEAD, and a GET for each file
}

TEST_CASE("web_store: an answer that is no listing says what it is", "[net][web][corrupt]") {
  const std::string links = R"(<a href="b">b</a>)";
  const auto error_of = [&](const std::string& type, const std::string& body,
                            const std::string& coding) {
    HttpServer server([&](const ServedRequest& request) {
      if (request.target != "/") return served(404);
      return served(200, body, {{"Content-Type", type}, {"Content-Encoding", coding}});
    });
    Net net;
    const auto listed = net.web(server.url())->list("");
    return listed ? std::string() : std::string(listed.error().field);
  };
  CHECK(error_of("text/html", links, "identity").empty());
  CHECK(error_of("text/html", links, "gzip").contains("compressed"));
  CHECK(error_of("text/html", "\x1f\x8b\x08", "identity").contains("compressed"));
  CHECK(error_of("text/xml", "<list/>", "identity").contains("XML"));
  CHECK(error_of("text/plain", "b", "identity").contains("plain text"));
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
  REQUIRE((json && json->entries.size() == 1));
  CHECK(json->entries[0].size == 3);
  const auto html = net.web(server.url() + "/html");
  CHECK(html->stat("d")->is_directory);
  const auto links = html->list("d");
  REQUIRE((links && links->entries.size() == 1));
  CHECK(links->entries[0].name == "b");
  const auto manifest = net.web(server.url() + "/man");
  CHECK(manifest->stat("")->is_directory);
  const auto listed = manifest->list("d");
  REQUIRE((listed && listed->entries.size() == 1));
  CHECK(listed->entries[0].name == "c");
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
  REQUIRE((listed && listed->entries.size() == 1));
  CHECK(listed->entries[0].name == "new");
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
    return listed && listed->entries.size() == 1 ? listed->entries[0].name : "";
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

TEST_CASE("web_store: a server without ranges shows the size and the beginning",
          "[net][web][unit]") {
  const auto content = long_content();
  HttpServer server(
      [&](const ServedRequest&) { return served(200, content, {{"ETag", "\"e\""}}); });
  Net net;
  const auto opened = net.web(server.url())->open("x");
  REQUIRE(opened);
  CHECK(opened->object->is_whole_only());
  CHECK(opened->object->version().size == content.size());
  CHECK(opened->part.bytes->size() == kHeadBytes);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("web_store: a server that has ranges must send them", "[net][web][unit]") {
  const auto content = long_content();
  HttpServer server([&](const ServedRequest&) {
    return served(200, content, {{"ETag", "\"e\""}, {"Accept-Ranges", "bytes"}});
  });
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
  REQUIRE((entries && entries->entries.size() == 1));
  CHECK(entries->entries[0].name == "f");
  CHECK(entries->entries[0].size == 5);
  CHECK(store->stat("none").error().sys == ENOENT);
}

}  // namespace
}  // namespace framefs::net::web_store_test
