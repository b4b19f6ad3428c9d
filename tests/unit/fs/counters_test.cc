#include "fs/core/diagnostics/counters.h"

#include "tests/support/catch.h"

namespace framefs::fs::counters_test {
namespace {

using std::chrono::nanoseconds;

TEST_CASE("latency_histogram: a quantile is a bound of at most twice the exact value",
          "[fs][counters][unit]") {
  LatencyHistogram latencies;
  CHECK(latencies.quantile_ns(0.5) == 0);
  for (int i = 0; i < 98; ++i) latencies.note(nanoseconds(1000));
  latencies.note(nanoseconds(1'000'000));
  latencies.note(nanoseconds(1'000'000));
  CHECK(latencies.count() == 100);
  CHECK(latencies.sum_ns() == 2'098'000);
  CHECK(latencies.quantile_ns(0.5) > 1000);
  CHECK(latencies.quantile_ns(0.5) <= 2000);
  CHECK(latencies.quantile_ns(0.99) > 1'000'000);
  CHECK(latencies.quantile_ns(0.99) <= 2'000'000);
}

TEST_CASE("latency_histogram: extreme durations are counted", "[fs][counters][unit]") {
  LatencyHistogram latencies;
  latencies.note(nanoseconds(-1));
  latencies.note(nanoseconds(0));
  latencies.note(nanoseconds::max());
  CHECK(latencies.count() == 3);
  CHECK(latencies.quantile_ns(0) == 1);
  CHECK(latencies.quantile_ns(1) > 1'000'000'000'000);
}

}  // namespace
}  // namespace framefs::fs::counters_test
