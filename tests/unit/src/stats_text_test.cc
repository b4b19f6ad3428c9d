#include "src/observe/stats_text.h"

#include <string>

#include "tests/support/catch.h"

namespace framefs {
namespace {

const std::string kStats = R"({"pid":7,"source":"/a","mountpoint":"/m \"x\"","read_only":false,
  "uptime_s":3700.5,
  "requests":{"read":{"count":10,"sum_us":20.0,"p50_us":1.024,"p99_us":2097.152}},
  "errors":{"EIO":0,"ENOENT":3,"other":0},"bytes_read":2000,"bytes_written":0,
  "cache":{"hits":3,"misses":1,"made_bytes":4096,"held_bytes":100,"pushed_bytes":512,"budget_bytes":1000}})";

TEST_CASE("stats_text: the table names the activity", "[src][stats_text][unit]") {
  const auto table = stats_table(kStats);
  for (const char* part :
       {"pid 7, up 1 h 1 min, read-write", "< 2.1 ms", "75% of 4 look-ups hit", "ENOENT 3"}) {
    CAPTURE(part, table);
    CHECK(table.find(part) != std::string::npos);
  }
  CHECK(table.find("EIO") == std::string::npos);
}

TEST_CASE("stats_text: labels of metrics are escaped", "[src][stats_text][unit]") {
  const auto metrics = stats_metrics(kStats);
  const std::string line = R"(framefs_requests_total{mountpoint="/m \"x\"",kind="read"} 10)";
  CAPTURE(metrics);
  CHECK(metrics.find(line + "\n") != std::string::npos);
  CHECK(metrics.find(R"(framefs_errors_total{mountpoint="/m \"x\"",errno="ENOENT"} 3)") !=
        std::string::npos);
}

TEST_CASE("stats_text: a text that is no object gives nothing", "[src][stats_text][unit]") {
  for (const char* text : {"", "[]", "{", "null"}) {
    CHECK(stats_table(text).empty());
    CHECK(stats_metrics(text).empty());
  }
}

}  // namespace
}  // namespace framefs
