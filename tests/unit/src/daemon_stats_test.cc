#include "src/observe/daemon_stats.h"

#include <optional>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace framefs::daemon_stats_test {
namespace {

TEST_CASE("daemon_stats: what a daemon says is found", "[src][daemon_stats][unit]") {
  const DaemonStats stats(R"({"pid":7,"source":"/a","options":["ro","idle=60"],"bytes_read":12,
    "requests":{"read":{"count":10},"get/attr~":{"count":2}},"cache":{"hits":3}})");
  REQUIRE(stats.pid() == 7);
  REQUIRE(stats.source() == "/a");
  REQUIRE(stats.options() == std::vector<std::string>{"ro", "idle=60"});
  REQUIRE(stats.counter("/bytes_read") == 12);
  REQUIRE(stats.counter("/cache/hits") == 3);
  REQUIRE(stats.counter("/writes/dirty_bytes") == 0);
  REQUIRE(stats.requests() == 12);
}

TEST_CASE("daemon_stats: a program of another user can say anything", "[src][daemon_stats][unit]") {
  for (const char* text :
       {"", "no JSON", "null", "[]", R"("text")", "{}",
        R"({"pid":"x","source":5,"options":{"a":1},"requests":7,"cache":[]})",
        R"({"pid":-1,"source":null,"options":[1],"requests":{"read":[],"write":{"count":"x"}}})",
        R"({"pid":4294967297,"source":[],"options":null,"requests":[1,{"count":-2}],"cache":3})"}) {
    CAPTURE(text);
    const DaemonStats stats{text};
    REQUIRE(stats.pid() == std::nullopt);
    REQUIRE(stats.source() == std::nullopt);
    REQUIRE(stats.options().empty());
    REQUIRE(stats.requests() == 0);
    REQUIRE(stats.counter("/cache/hits") == 0);
  }
}

}  // namespace
}  // namespace framefs::daemon_stats_test
