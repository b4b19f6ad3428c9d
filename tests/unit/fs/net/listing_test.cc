#include <cerrno>
#include <string>

#include "fs/core/threads/interrupt.h"
#include "fs/net/store/dav_listing.h"
#include "fs/net/store/manifest_table.h"
#include "fs/net/store/s3_listing.h"
#include "fs/net/store/web_listing.h"
#include "tests/support/catch.h"

namespace framefs::net::listing_test {
namespace {

std::vector<std::string> names(const std::vector<RemoteEntry>& entries) {
  std::vector<std::string> found;
  for (const auto& entry : entries) {
    found.push_back(entry.name + (entry.is_directory ? "/" : ""));
  }
  return found;
}
using Names = std::vector<std::string>;

// The entries that a parser hands over.
template <class Parse>
Result<std::vector<RemoteEntry>> parsed(const Parse& parse) {
  std::vector<RemoteEntry> entries;
  FRAMEFS_CHECK(parse([&](const RemoteEntry& entry) -> Status {
    entries.push_back(entry);
    return {};
  }));
  return entries;
}
auto json_entries(std::string_view text) {
  return parsed([&](const auto& take) { return parse_json_listing(text, take); });
}
auto html_entries(std::string_view text, const Url& folder) {
  return parsed([&](const auto& take) { return parse_html_listing(text, folder, take); });
}
auto dav_entries(std::string_view text, const Url& url) {
  return parsed([&](const auto& take) { return parse_dav_listing(text, url, take); });
}
std::vector<RemoteEntry> in_folder(const ManifestTable& files, const std::string& folder) {
  return tidy_listing(*parsed([&](const auto& take) { return files.list(folder, take); })).entries;
}

TEST_CASE("s3_listing: objects, folders and the next page", "[net][listing][unit]") {
  const auto page = parse_s3_listing(R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><Prefix>d/</Prefix>
<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>
<NextContinuationToken>a+b/=</NextContinuationToken>
<Contents><Key>d/</Key><Size>0</Size></Contents>
<Contents><Key>d/a+b%2B%C3%A9%25%3D%7E</Key><LastModified>2013-05-24T00:00:00.000Z</LastModified>
<ETag>"x-2"</ETag><Size>5000000000</Size></Contents>
<CommonPrefixes><Prefix>d/sub%20dir/</Prefix></CommonPrefixes>
</ListBucketResult>)",
                                     "d/");
  REQUIRE(page);
  CHECK(page->continuation == "a+b/=");
  CHECK(names(page->entries) == Names{"", "a b+\u00e9%=~", "sub dir/"});
  CHECK(page->entries[1].size == 5'000'000'000);
  CHECK(page->entries[1].etag == "\"x-2\"");
  CHECK(page->entries[1].mtime_ns == 1369353600000000000);
}

TEST_CASE("s3_listing: a store that encodes nothing", "[net][listing][unit]") {
  const auto page = parse_s3_listing(
      "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a+b%20</Key>"
      "<Size>1</Size></Contents></ListBucketResult>",
      "");
  REQUIRE(page);
  CHECK(page->continuation.empty());
  CHECK(names(page->entries) == Names{"a+b%20"});
}

TEST_CASE("s3_listing: a text that is not a listing is refused", "[net][listing][corrupt]") {
  const std::string good =
      "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a</Key><Size>1</Size>"
      "</Contents></ListBucketResult>";
  REQUIRE(parse_s3_listing(good, ""));
  for (std::size_t size = 0; size < good.size(); ++size) {
    INFO("prefix of " << size << " bytes");
    CHECK_FALSE(parse_s3_listing(good.substr(0, size), ""));
  }
  CHECK_FALSE(parse_s3_listing("<html/>", ""));
  CHECK_FALSE(
      parse_s3_listing("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", ""));
}

TEST_CASE("s3_listing: errors name the cause", "[net][listing][unit]") {
  const auto error = parse_s3_error(
      "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>");
  CHECK(error.code == "AuthorizationHeaderMalformed");
  CHECK(error.region == "eu-west-1");
  CHECK(parse_s3_error("").code.empty());
  CHECK(parse_s3_error("<html>").code.empty());
}

TEST_CASE("web_listing: nginx", "[net][listing][unit]") {
  const auto entries = json_entries(R"([
{ "name":"dir", "type":"directory", "mtime":"Fri, 24 May 2013 00:00:00 GMT" },
{ "name":"a b%20.b2frame", "type":"file", "mtime":"Fri, 24 May 2013 00:00:00 GMT", "size":12 }
])");
  REQUIRE(entries);
  CHECK(names(*entries) == Names{"dir/", "a b%20.b2frame"});
  CHECK((*entries)[1].size == 12);
  CHECK((*entries)[1].is_exact);
  CHECK((*entries)[1].mtime_ns == 1369353600000000000);
  for (const auto* const bad : {"", "{}", "[1]", "[", "<html>"}) CHECK_FALSE(json_entries(bad));
}

TEST_CASE("web_listing: Caddy", "[net][listing][unit]") {
  const auto entries = json_entries(
      R"([{"name":"d/","size":4096,"url":"./d/","mod_time":"2013-05-24T00:00:00.5Z","is_dir":true},
          {"name":"f","size":7,"url":"./f","mod_time":"2013-05-24T00:00:00Z","is_dir":false}])");
  REQUIRE(entries);
  CHECK(names(*entries) == Names{"d/", "f"});
  CHECK((*entries)[0].mtime_ns == 1369353600500000000);
}

TEST_CASE("web_listing: a page of links", "[net][listing][unit]") {
  const auto folder = *parse_url("http://h/data/");
  const auto entries = html_entries(
      R"(<a href="?C=N;O=D">Name</a> <a href="/">Parent</a> <a href="../">Up</a>
         <A HREF='a%20b%2B.b2frame'>a b+</A> <a class="x" href="/data/abs">abs</a>
         <a href="./sub/">sub</a> <a href="http://other/data/x">x</a> <a href="deep/er">deeper</a>
         <a href="m&amp;m">m&amp;m</a> <a href="/data/">self</a> <a href="javascript:x">j</a>
         <a href="unfinished)",
      folder);
  REQUIRE(entries);
  CHECK(names(tidy_listing(*entries).entries) == Names{"a b+.b2frame", "abs", "m&m", "sub/"});
  for (const auto& entry : *entries) CHECK(entry.is_exact == entry.is_directory);
}

TEST_CASE("web_listing: entities are resolved once", "[net][listing][unit]") {
  const auto entries = html_entries(
      R"(<a href="&amp;lt;"></a><a href="&lt;&gt;&quot;&#39;&amp;"></a><a href="&unknown;"></a>)",
      *parse_url("http://h/"));
  REQUIRE(entries);
  CHECK(names(*entries) == Names{"&lt;", "<>\"'&", "&unknown;"});
}

// Oracle: the time that the deadline of the tests allows; the work was once quadratic.
TEST_CASE("web_listing: pages that take long are bounded and can be interrupted",
          "[net][listing][corrupt]") {
  std::string entities = "<a href=\"";
  for (int i = 0; i < 4'000'000; ++i) entities += "&amp;";
  const auto folder = *parse_url("http://h/");
  CHECK(html_entries(entities + "\"></a><a href=\"b\">", folder)->size() == 1);

  CHECK_FALSE(json_entries(std::string(20'000'000, '[')));
  std::string objects = "[";
  for (int i = 0; i < 1'000'000; ++i) objects += R"({"name":"a"},)";
  objects += "{}]";
  REQUIRE(json_entries(objects));
  const fs::InterruptScope scope([] { return true; });
  CHECK(json_entries(objects).error().sys == EINTR);
  CHECK(html_entries("<a href=\"b\">", folder).error().sys == EINTR);
}

TEST_CASE("dav_listing: a document with far too many nodes is refused", "[net][listing][corrupt]") {
  std::string xml = "<multistatus>";
  for (int i = 0; i < 5'000'000; ++i) xml += "<a/>";
  CHECK_FALSE(dav_entries(xml + "</multistatus>", *parse_url("http://h/")));
  CHECK_FALSE(dav_entries(xml + "<response></response></multistatus>", *parse_url("http://h/")));
}

TEST_CASE("dav_listing: a text that ends early is refused", "[net][listing][corrupt]") {
  const std::string good =
      "<D:multistatus xmlns:D=\"DAV:\"><D:response><D:href>/a</D:href><D:propstat><D:prop/>"
      "<D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response><D:response><D:href>/b"
      "</D:href></D:response ><D:sync-token>x</D:sync-token></D:multistatus>";
  const auto url = *parse_url("http://h/");
  REQUIRE(dav_entries(good, url));
  CHECK(names(*dav_entries(good, url)) == Names{"a"});
  for (std::size_t size = 0; size + 1 < good.size(); ++size) {
    INFO("prefix of " << size << " bytes");
    CHECK_FALSE(dav_entries(good.substr(0, size), url));
  }
}

TEST_CASE("web_listing: a manifest", "[net][listing][unit]") {
  const auto files = ManifestTable::parse(R"({"framefs-manifest": 1, "files": [
    {"path": "a", "size": 5, "mtime": "2013-05-24T00:00:00Z", "etag": "\"e\""},
    {"path": "d/b", "size": 6}, {"path": "d/e/c"}, {"path": "d.b2frame", "size": 1}]})",
                                          {});
  REQUIRE(files);
  CHECK(names(in_folder(*files, "")) == Names{"a", "d/", "d.b2frame"});
  CHECK(names(in_folder(*files, "d")) == Names{"b", "e/"});
  const auto deepest = in_folder(*files, "d/e");
  CHECK(names(deepest) == Names{"c"});
  CHECK_FALSE(deepest[0].is_exact);
  CHECK(in_folder(*files, "x").empty());
  for (const auto* const bad : {"", "[]", "{}", R"({"framefs-manifest": 2, "files": []})",
                                R"({"framefs-manifest": 1, "files": [1]})"}) {
    CHECK_FALSE(ManifestTable::parse(bad, {}));
  }
}

TEST_CASE("dav_listing: Apache", "[net][listing][unit]") {
  const auto url = *parse_url("http://h/dav/d/");
  const auto entries = dav_entries(R"(<?xml version="1.0" encoding="utf-8"?>
<D:multistatus xmlns:D="DAV:" xmlns:ns0="DAV:">
<D:response xmlns:lp1="DAV:"><D:href>/dav/d/</D:href><D:propstat><D:prop>
<lp1:resourcetype><D:collection/></lp1:resourcetype></D:prop>
<D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>
<D:response xmlns:lp1="DAV:"><D:href>/dav/d/a%20b.b2frame</D:href><D:propstat><D:prop>
<lp1:resourcetype/><lp1:getcontentlength>99</lp1:getcontentlength>
<lp1:getlastmodified>Fri, 24 May 2013 00:00:00 GMT</lp1:getlastmodified>
<lp1:getetag>"1-2"</lp1:getetag></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>
<D:propstat><D:prop><D:x/></D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat>
</D:response>
<D:response><D:href>http://h/dav/d/sub/</D:href><D:propstat><D:prop>
<D:resourcetype><D:collection/></D:resourcetype></D:prop><D:status>HTTP/1.1 200 OK</D:status>
</D:propstat></D:response>
<D:response><D:href>/elsewhere</D:href><D:propstat><D:prop/><D:status>HTTP/1.1 200 OK</D:status>
</D:propstat></D:response></D:multistatus>)",
                                   url);
  REQUIRE(entries);
  CHECK(names(*entries) == Names{"/", "a b.b2frame", "sub/"});
  CHECK((*entries)[1].size == 99);
  CHECK((*entries)[1].etag == "\"1-2\"");
  CHECK((*entries)[1].mtime_ns == 1369353600000000000);
  CHECK_FALSE(dav_entries("<html/>", url));
  CHECK_FALSE(dav_entries("", url));
}

TEST_CASE("object_store: names that no file can have are left out, and counted",
          "[net][listing][unit]") {
  const auto entry = [](std::string name, bool is_directory) {
    RemoteEntry made;
    made.name = std::move(name);
    made.is_directory = is_directory;
    return made;
  };
  const auto tidy =
      tidy_listing({entry("b", false), entry("a", false), entry("..", true), entry(".", true),
                    entry("", false), entry("x/y", false), entry(std::string("z\0z", 3), false),
                    entry("a", true), entry("...", false), entry(std::string(256, 'n'), false)});
  CHECK(names(tidy.entries) == Names{"...", "a/", "b"});
  CHECK(tidy.unnameable.count == 5);
  CHECK(tidy.unnameable.first == "..");
  CHECK(tidy.covered.count == 1);
  CHECK(tidy.covered.first == "a");
}

}  // namespace
}  // namespace framefs::net::listing_test
