#include "src/observe/stats_text.h"

#include <string>

#include "tests/support/catch.h"

namespace framefs::stats_text_test {
namespace {

const std::string kStats = R"({"pid":7,"source":"/a","mountpoint":"/m \"x\"","read_only":false,
  "uptime_s":3700.5,
  "requests":{"read":{"count":10,"sum_us":20.0,"p50_us":1.024,"p99_us":2097.152}},
  "errors":{"EIO":0,"ENOENT":3,"other":0},"bytes_read":2000,"bytes_written":0,
  "cache":{"hits":3,"misses":1,"made_bytes":4096,"held_bytes":100,"pushed_bytes":512,"budget_bytes":1000}})";

// With the sections of mounts that can be written, and of URLs.
const std::string kAllSections =
    kStats.substr(0, kStats.size() - 1) +
    R"(,"read_ahead":{"decoded_bytes":4000,"used_bytes":3000,"wasted_bytes":1000},
  "writes":{"dirty_bytes":5000,"budget_bytes":9000,"stored_bytes":7000,"commits":12,"failed_commits":1,
    "compactions":2},
  "network":{"get_none":1,"get_2xx":5,"get_5xx":2,"list_2xx":1,"bytes_fetched":6000,"bytes_served":8000,
    "prefetched_bytes":500,"retries":3,"hedges":4,"memory_hits":2,"disk_hits":1,"misses":1,
    "latency_ms":[0,0,7,0,1],"latency_sum_us":30500}})";

TEST_CASE("stats_text: the table names the activity", "[src][stats_text][unit]") {
  const auto table = stats_table(kStats);
  for (const char* part :
       {"pid 7, up 1 h 1 min, read-write", "< 2.1 ms", "75% of 4 look-ups hit", "ENOENT 3"}) {
    CAPTURE(part, table);
    CHECK(table.find(part) != std::string::npos);
  }
  CHECK(table.find("EIO") == std::string::npos);
}

TEST_CASE("stats_text: writes, read-ahead and network are shown where a mount has them",
          "[src][stats_text][unit]") {
  const auto table = stats_table(kAllSections);
  for (const char* part :
       {"4.0 kB decoded, 3.0 kB used, 1.0 kB wasted", "5.0 kB of 9.0 kB in use",
        "12, 1 failed, 7.0 kB stored", "2 compactions",
        "2xx 6, 5xx 2, no answer 1; 3 retries, 4 hedges; p50 < 4.0 ms, p99 < 16.0 ms",
        "6.0 kB fetched, 500 B of it ahead; 8.0 kB served, 50% of 4 ranges from memory, 25% from "
        "disk"}) {
    CAPTURE(part, table);
    CHECK(table.find(part) != std::string::npos);
  }
  const auto metrics = stats_metrics(kAllSections);
  for (const char* part :
       {"framefs_read_ahead_wasted_bytes_total{%} 1000\n", "framefs_dirty_bytes{%} 5000\n",
        "framefs_failed_commits_total{%} 1\n",
        "framefs_network_answers_total{%,status=\"2xx\"} 6\n",
        "# TYPE framefs_network_seconds histogram\n",
        "framefs_network_seconds_bucket{%,le=\"0.002\"} 0\n",
        "framefs_network_seconds_bucket{%,le=\"0.004\"} 7\n",
        "framefs_network_seconds_bucket{%,le=\"0.008\"} 7\n",
        "framefs_network_seconds_bucket{%,le=\"+Inf\"} 8\n",
        "framefs_network_seconds_sum{%} 0.0305\n", "framefs_network_seconds_count{%} 8\n"}) {
    const std::string label = R"(mountpoint="/m \"x\"")";
    auto line = std::string(part);
    if (const auto at = line.find('%'); at != std::string::npos) line.replace(at, 1, label);
    CAPTURE(line, metrics);
    CHECK(metrics.find(line) != std::string::npos);
  }
  CHECK(stats_metrics(kStats).find("network") == std::string::npos);
}

TEST_CASE("stats_text: labels of metrics are escaped", "[src][stats_text][unit]") {
  const auto metrics = stats_metrics(kStats);
  const std::string line = R"(framefs_requests_total{mountpoint="/m \"x\"",kind="read"} 10)";
  CAPTURE(metrics);
  CHECK(metrics.find(line + "\n") != std::string::npos);
  CHECK(metrics.find(R"(framefs_errors_total{mountpoint="/m \"x\"",errno="ENOENT"} 3)") !=
        std::string::npos);
}

TEST_CASE("stats_text: values that are absent or of another type count as not given",
          "[src][stats_text][unit]") {
  for (const char* text :
       {"{}", R"({"pid":1})", R"({"requests":5,"errors":[],"cache":"x","uptime_s":1e300})",
        R"({"requests":{"read":7,"write":{"count":-1}},"errors":{"EIO":"many"},"uptime_s":-1})",
        R"({"requests":{"read":{"count":1,"classes":7}}})",
        R"({"network":{"latency_ms":{"a":1},"get_2xx":[]}})",
        R"({"read_ahead":[],"writes":null,"source":[],"mountpoint":{},"read_only":1})"}) {
    CAPTURE(text);
    CHECK(stats_table(text).find("  errors      none\n") != std::string::npos);
    CHECK(stats_metrics(text).find("# TYPE framefs_cache_hits_total") != std::string::npos);
  }
  std::string classes = R"({"network":{"latency_ms":[1)";
  for (int i = 0; i < 100; ++i) classes += ",1";
  CHECK(stats_metrics(classes + "]}}").find("le=\"+Inf\"} 64\n") != std::string::npos);
}

TEST_CASE("stats_text: names from a stranger are escaped", "[src][stats_text][unit]") {
  const std::string text = R"({"requests":{"\u001b[2J":{"count":1}},"errors":{"\u001b[3J":2},
    "network":{"get_\u001b[4Jxx":3}})";
  CHECK(stats_table(text).find('\x1b') == std::string::npos);
}

TEST_CASE("stats_text: a text that is no object gives nothing", "[src][stats_text][unit]") {
  for (const char* text : {"", "[]", "{", "null"}) {
    CHECK(stats_table(text).empty());
    CHECK(stats_metrics(text).empty());
  }
}

}  // namespace
}  // namespace framefs::stats_text_test
