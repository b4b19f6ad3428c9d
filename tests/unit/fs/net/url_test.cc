#include "fs/net/http/url.h"

#include <string>

#include "fs/net/store/source_url.h"
#include "tests/support/catch.h"

namespace framefs::net::url_test {
namespace {

TEST_CASE("url: its parts", "[net][url][unit]") {
  const auto url = parse_url("HTTPS://Example.org:8443/a%20b/c d?x=1#part");
  REQUIRE(url);
  CHECK(url->scheme == "https");
  CHECK(url->host == "example.org");
  CHECK(url->port == 8443);
  CHECK(url->path == "/a%20b/c%20d");
  CHECK(url->query == "x=1");
  CHECK(url->text() == "https://example.org:8443/a%20b/c%20d?x=1");
  CHECK(parse_url("http://a")->text() == "http://a/");
  CHECK(parse_url("http://a:80/")->authority() == "a");
  CHECK(parse_url("http://[::1]:7480/x")->authority() == "[::1]:7480");
  CHECK(parse_url("http://[::1]/x")->host == "[::1]");
  CHECK(parse_url("http://a?q")->text() == "http://a/?q");
}

TEST_CASE("url: a text that is not a URL is refused", "[net][url][unit]") {
  for (const auto* const text :
       {"", "a/b", "ftp://a/", "http://", "http:///x", "http://a:0/", "http://a:99999/",
        "http://a:x/", "http://a b/", "http://user:secret@a/", "http://user@a/", "http://a\n/"}) {
    INFO(text);
    const auto url = parse_url(text);
    REQUIRE_FALSE(url);
    CHECK(url.error().kind == Errc::bad_field);
  }
}

// Source of the cases: RFC 3986, 5.4.
TEST_CASE("url: a reference is resolved against its document", "[net][url][unit]") {
  const auto base = parse_url("http://a/b/c/d;p?q");
  REQUIRE(base);
  const std::pair<const char*, const char*> cases[] = {
      {"g", "http://a/b/c/g"},        {"./g", "http://a/b/c/g"},
      {"g/", "http://a/b/c/g/"},      {"/g", "http://a/g"},
      {"//g", "http://g/"},           {"?y", "http://a/b/c/d;p?y"},
      {"g?y", "http://a/b/c/g?y"},    {"#s", "http://a/b/c/d;p?q"},
      {"", "http://a/b/c/d;p?q"},     {".", "http://a/b/c/"},
      {"..", "http://a/b/"},          {"../g", "http://a/b/g"},
      {"../../../g", "http://a/g"},   {"g;x=1/../y", "http://a/b/c/y"},
      {"https://h/x", "https://h/x"}, {"g%20h", "http://a/b/c/g%20h"},
  };
  for (const auto& [reference, wanted] : cases) {
    INFO(reference);
    const auto url = resolve_url(*base, reference);
    REQUIRE(url);
    CHECK(url->text() == wanted);
  }
  CHECK_FALSE(resolve_url(*base, "file:///etc/passwd"));
  CHECK_FALSE(resolve_url(*base, "javascript:x"));
}

TEST_CASE("url: the same origin is scheme, host and port", "[net][url][unit]") {
  const auto same = [](const char* a, const char* b) {
    return parse_url(a)->same_origin(*parse_url(b));
  };
  CHECK(same("http://a/x", "http://A:80/y"));
  CHECK_FALSE(same("http://a/", "https://a/"));
  CHECK_FALSE(same("http://a/", "http://b/"));
  CHECK_FALSE(same("http://a/", "http://a:81/"));
}

TEST_CASE("source_url: buckets with prefixes, and web servers", "[net][url][unit]") {
  const auto s3 = parse_source_url("s3://bucket/a b/%20/c");
  REQUIRE(s3);
  CHECK(s3->kind == StoreKind::s3);
  CHECK(s3->bucket == "bucket");
  CHECK(s3->prefix == "a b/%20/c");  // a key is not decoded
  CHECK(parse_source_url("s3://bucket")->prefix.empty());
  CHECK(parse_source_url("s3://bucket/")->prefix.empty());

  CHECK(parse_source_url("https://h/x")->kind == StoreKind::http);
  const auto dav = parse_source_url("davs://h/x");
  REQUIRE(dav);
  CHECK(dav->kind == StoreKind::dav);
  CHECK(dav->url.text() == "https://h/x");
  CHECK(parse_source_url("dav://h/x")->url.text() == "http://h/x");

  for (const auto* const text :
       {"s3://", "s3:///key", "s3://a", "s3://buck et/", "ftp://h/", "/a"}) {
    INFO(text);
    CHECK_FALSE(parse_source_url(text));
  }
}

TEST_CASE("source_url: a path is none", "[net][url][unit]") {
  CHECK(is_source_url("s3://x"));
  CHECK(is_source_url("https://x"));
  CHECK(is_source_url("webdav://x"));
  CHECK_FALSE(is_source_url("/data"));
  CHECK_FALSE(is_source_url("s3:/data"));
  CHECK_FALSE(is_source_url("data/http://x"));
  CHECK_FALSE(is_source_url(""));
}

}  // namespace
}  // namespace framefs::net::url_test
