#include "fs/core/diagnostics/log.h"

#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/test_log.h"

namespace framefs::fs::log_test {
namespace {

using codec::Errc;
using codec::Error;
using Lines = std::vector<std::string>;

const Error kDamaged{.kind = Errc::bad_field, .field = "cbytes", .at = 12, .sys = 0, .value = -1};

TEST_CASE("log: a failure is logged once for each place and cause", "[fs][log][unit]") {
  test::TestLog capture;
  auto& log = capture.log();
  for (int again = 0; again < 3; ++again) log.failure("a: chunk 1", kDamaged);
  log.failure("a: chunk 2", kDamaged);
  log.failure("a: chunk 1", {.kind = Errc::system, .field = "read", .at = 0, .sys = EIO});
  log.failure("a: chunk 1", kDamaged);
  CHECK(capture.lines() == Lines{"error: a: chunk 1: bad field: cbytes (-1) at byte 12",
                                 "error: a: chunk 2: bad field: cbytes (-1) at byte 12",
                                 "error: a: chunk 1: read: Input/output error"});
}

TEST_CASE("log: a bug of ours is marked as one", "[fs][log][unit]") {
  test::TestLog capture;
  capture.log().failure("x", {.kind = Errc::internal, .field = "special", .at = 0});
  CHECK(capture.lines() == Lines{"critical: BUG: x: BUG: special at byte 0"});
}

// Log lines contain file names: braces in them must not be taken as a format.
TEST_CASE("log: text is written as it is", "[fs][log][unit]") {
  test::TestLog capture;
  capture.log().info("{} {0:x}");
  capture.log().warn("{broken");
  capture.log().failure("{}/x", kDamaged);
  CHECK(capture.lines() == Lines{"info: {} {0:x}", "warning: {broken",
                                 "error: {}/x: bad field: cbytes (-1) at byte 12"});
}

TEST_CASE("log: one line comes of a failure that many threads meet at once", "[fs][log][race]") {
  test::TestLog capture;
  test::on_threads(8, [&](std::size_t) {
    for (int chunk = 0; chunk < 50; ++chunk) {
      capture.log().failure("a: chunk " + std::to_string(chunk), kDamaged);
    }
  });
  CHECK(capture.lines().size() == 50);
}

TEST_CASE("log: held failures are logged at the end, or forgotten", "[fs][log][unit]") {
  test::TestLog capture;
  auto& log = capture.log();
  {
    HeldFailures held;
    log.failure("a", "chunk 1", kDamaged);
    log.info("other lines are not held");
    held.forget();
    log.failure("a", "chunk 2", kDamaged);
    CHECK(capture.lines() == Lines{"info: other lines are not held"});
  }
  log.failure("a", "chunk 3", kDamaged);
  CHECK(capture.lines() == Lines{"info: other lines are not held",
                                 "error: a: chunk 2: bad field: cbytes (-1) at byte 12",
                                 "error: a: chunk 3: bad field: cbytes (-1) at byte 12"});
}

TEST_CASE("log: an outer holder gets what an inner one logs", "[fs][log][unit]") {
  test::TestLog capture;
  {
    HeldFailures outer;
    {
      const HeldFailures inner;
      capture.log().failure("a", kDamaged);
    }
    CHECK(capture.lines().empty());
    outer.forget();
    const HeldFailures inner;
    capture.log().failure("b", kDamaged);
  }
  CHECK(capture.lines() == Lines{"error: b: bad field: cbytes (-1) at byte 12"});
}

TEST_CASE("log: a holder holds the failures of its own thread alone", "[fs][log][race]") {
  test::TestLog capture;
  test::on_threads(8, [&](std::size_t thread) {
    for (int round = 0; round < 50; ++round) {
      HeldFailures held;
      capture.log().failure(std::to_string(thread), kDamaged);
      if (thread > 0) held.forget();
    }
  });
  CHECK(capture.lines() == Lines{"error: 0: bad field: cbytes (-1) at byte 12"});
}

// A user who makes the daemon log must not be able to make it grow.  Oracle: a place is logged
// again only after many other places, which shows that it was forgotten.
TEST_CASE("log: places are forgotten when there are too many", "[fs][log][unit]") {
  test::TestLog capture;
  auto& log = capture.log();
  log.failure("first", kDamaged);
  for (int place = 0; place < 100; ++place) log.failure(std::to_string(place), kDamaged);
  log.failure("first", kDamaged);
  REQUIRE(capture.lines().size() == 101);
  for (int place = 100; place < 20000; ++place) log.failure(std::to_string(place), kDamaged);
  log.failure("first", kDamaged);
  CHECK(capture.lines().size() == 20002);
}

TEST_CASE("log: control characters and bytes that are no UTF-8 are escaped", "[fs][log][unit]") {
  const std::string text = "a b/\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80";
  CHECK(printable(text) == text);
  CHECK(printable("a\nb\r\x1b[2J\x7f\t") == R"(a\x0ab\x0d\x1b[2J\x7f\x09)");
  CHECK(printable("\xc2\x9b") == R"(\xc2\x9b)");  // a control character
  CHECK(printable("\xc0\xaf\xff") == R"(\xc0\xaf\xff)");
  CHECK(printable("\xed\xa0\x80") == R"(\xed\xa0\x80)");  // half of a pair
  CHECK(printable("\xe2\x82") == R"(\xe2\x82)");
  test::TestLog capture;
  capture.log().failure("a\nb", kDamaged);
  CHECK(capture.lines() == Lines{R"(error: a\x0ab: bad field: cbytes (-1) at byte 12)"});
}

TEST_CASE("log: one file and a burst write a bounded number of lines", "[fs][log][unit]") {
  std::chrono::steady_clock::time_point now{std::chrono::hours(1)};
  test::TestLog capture(
      {.lines_per_file = 3, .burst_lines = 5, .per_line = std::chrono::seconds(1), .now = [&] {
         return now;
       }});
  auto& log = capture.log();
  for (int i = 0; i < 9; ++i) log.failure("a", std::to_string(i), kDamaged);
  REQUIRE(capture.lines().size() == 4);
  CHECK(capture.lines().back() == "error: a: more failures; they are not logged");
  log.warn("fifth");
  for (int i = 0; i < 7; ++i) log.warn("left out");
  CHECK(capture.lines().size() == 5);
  now += std::chrono::seconds(2);
  log.warn("later");
  const auto lines = capture.lines();
  REQUIRE(lines.size() == 7);
  CHECK(lines[5] == "warning: 7 lines were left out");
  CHECK(lines[6] == "warning: later");
}

}  // namespace
}  // namespace framefs::fs::log_test
