#include "fs/net/http/latency_model.h"

#include <algorithm>

#include "tests/support/catch.h"

namespace framefs::net::latency_model_test {
namespace {

using std::chrono::milliseconds;

LatencyModel::Time at(milliseconds time) { return LatencyModel::Time{} + time; }

TEST_CASE("latency_model: the round trip is the usual one", "[net][latency_model][unit]") {
  LatencyModel model;
  for (int i = 0; i < 100; ++i) {
    const auto first = milliseconds(i % 10 == 0 ? 500 : 10);
    model.note(4096, first, first, at(milliseconds(10 * i)));
  }
  // Exact to one bucket; there are four buckets for each doubling.
  CHECK(model.round_trip() >= milliseconds(9));
  CHECK(model.round_trip() <= milliseconds(13));
  CHECK(model.stall_time(4096) > milliseconds(500));
}

TEST_CASE("latency_model: a gap is cheap up to a round trip's worth",
          "[net][latency_model][unit]") {
  LatencyModel slow_network;
  LatencyModel near_server;
  for (int i = 0; i < 100; ++i) {
    // 10 MB/s with 10 ms, 10 MB/s with 1 ms.
    slow_network.note(1'000'000, milliseconds(10), milliseconds(110), at(milliseconds(100 * i)));
    near_server.note(1'000'000, milliseconds(1), milliseconds(101), at(milliseconds(100 * i)));
  }
  CHECK(slow_network.cheap_gap_bytes() >= 80'000);
  CHECK(slow_network.cheap_gap_bytes() <= 130'000);
  CHECK(near_server.cheap_gap_bytes() >= 8'000);
  CHECK(near_server.cheap_gap_bytes() <= 13'000);
  LatencyModel far;
  for (int i = 0; i < 100; ++i) {
    far.note(1'000'000, milliseconds(500), milliseconds(510), at(milliseconds(100 * i)));
  }
  CHECK(far.cheap_gap_bytes() == LatencyModel::kMaxGapBytes);
}

TEST_CASE("latency_model: a larger body may take longer", "[net][latency_model][unit]") {
  LatencyModel model;
  for (int i = 0; i < 100; ++i) {
    model.note(1'000'000, milliseconds(10), milliseconds(110), at(milliseconds(100 * i)));
  }
  CHECK(model.stall_time(8'000'000) > model.stall_time(4096) + milliseconds(2'000));
}

TEST_CASE("latency_model: the pipe is rate times round trip", "[net][latency_model][unit]") {
  LatencyModel model;
  CHECK(model.pipe_bytes() == 0);
  // Ten connections together: 100 MB/s.
  for (int i = 0; i < 1000; ++i) {
    model.note(1'000'000, milliseconds(50), milliseconds(100), at(milliseconds(10 * i)));
  }
  CHECK(model.pipe_bytes() > 3'500'000);
  CHECK(model.pipe_bytes() < 8'000'000);
}

TEST_CASE("latency_model: a single body tells the first pipe", "[net][latency_model][unit]") {
  LatencyModel model;
  CHECK(model.first_pipe_bytes() == 0);
  model.note(4096, milliseconds(50), milliseconds(50), at(milliseconds(50)));
  CHECK(model.first_pipe_bytes() < 100'000);
  // 100 kB in 1 ms: 100 MB/s.
  model.note(100'000, milliseconds(50), milliseconds(51), at(milliseconds(101)));
  CHECK(model.pipe_bytes() < 100'000);
  CHECK(model.first_pipe_bytes() > 4'000'000);
  CHECK(model.first_pipe_bytes() < 6'000'000);
  // All connections together: ten times as much.
  for (int i = 1; i <= 1000; ++i) {
    model.note(10'000'000, milliseconds(50), milliseconds(150), at(milliseconds(101 + 10 * i)));
  }
  CHECK(model.first_pipe_bytes() == model.pipe_bytes());
}

TEST_CASE("latency_model: a change of the network is learned", "[net][latency_model][unit]") {
  LatencyModel model;
  for (int i = 0; i < 2000; ++i) model.note(1, milliseconds(1), milliseconds(1), at({}));
  for (int i = 0; i < 3000; ++i) model.note(1, milliseconds(100), milliseconds(100), at({}));
  CHECK(model.round_trip() > milliseconds(80));
}

}  // namespace
}  // namespace framefs::net::latency_model_test
