#include "fs/net/http/timestamp.h"

#include "tests/support/catch.h"

namespace framefs::net::timestamp_test {
namespace {

// Oracle: date -u -d '...' +%s
TEST_CASE("timestamp: dates of HTTP", "[net][timestamp][unit]") {
  CHECK(parse_http_date("Wed, 21 Oct 2015 07:28:00 GMT") == 1445412480);
  CHECK(parse_http_date("Thu, 01 Jan 1970 00:00:00 GMT") == 0);
  CHECK(parse_http_date("Thu, 29 Feb 2024 23:59:59 GMT") == 1709251199);
  for (const auto* const text : {"", "now", "Wed, 21 Foo 2015 07:28:00 GMT", "Wed, 21 Oct 2015",
                                 "Wed, 41 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2015 25:28:00 GMT",
                                 "Wed, 21 Oct 2015 07:28:00 +0200", "21 Oct 2015 07:28:00 GMT"}) {
    INFO(text);
    CHECK_FALSE(parse_http_date(text));
  }
}

TEST_CASE("timestamp: times after 2261 are its end", "[net][timestamp][corrupt]") {
  CHECK(parse_http_date("Fri, 31 Dec 9999 23:59:59 GMT") == 9214646399);
  CHECK(parse_iso_time_ns("9999-12-31T23:59:59.999999999-99:99") > 9214646399000000000);
  CHECK(time_of("Fri, 31 Dec 9999 23:59:59 GMT") == 9214646399000000000);
}

TEST_CASE("timestamp: ISO 8601", "[net][timestamp][unit]") {
  CHECK(parse_iso_time("2013-05-24T00:00:00Z") == 1369353600);
  CHECK(parse_iso_time("2013-05-24T02:00:00+02:00") == 1369353600);
  CHECK(parse_iso_time("2013-05-24T00:00:00") == 1369353600);
  CHECK(parse_iso_time_ns("2013-05-24T00:00:00.250Z") == 1369353600250000000);
  for (const auto* const text : {"", "2013-05-24", "2013-05-24T00:00Z", "x013-05-24T00:00:00Z",
                                 "2013-13-24T00:00:00Z", "2013-05-24T00:00:00Zx"}) {
    INFO(text);
    CHECK_FALSE(parse_iso_time(text));
  }
}

TEST_CASE("timestamp: the text of a time is read back exactly", "[net][timestamp][unit]") {
  CHECK(iso_time_ns(1369353600000000000) == "2013-05-24T00:00:00Z");
  CHECK(iso_time_ns(1369353600250000001) == "2013-05-24T00:00:00.250000001Z");
  for (const std::int64_t ns :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{1709251199999999999}}) {
    INFO(ns);
    CHECK(parse_iso_time_ns(iso_time_ns(ns)) == ns);
  }
  CHECK(time_of("2013-05-24T00:00:00.25Z") == 1369353600250000000);
  CHECK(time_of("Fri, 24 May 2013 00:00:00 GMT") == 1369353600000000000);
  CHECK(time_of("yesterday") == 0);
}

TEST_CASE("timestamp: as signatures have it", "[net][timestamp][unit]") {
  CHECK(amz_time(1369353600) == "20130524T000000Z");
  CHECK(amz_time(1709251199) == "20240229T235959Z");
}

}  // namespace
}  // namespace framefs::net::timestamp_test
