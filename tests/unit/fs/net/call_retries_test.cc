#include "fs/net/http/call_retries.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>

#include "fs/core/files/file.h"
#include "tests/support/catch.h"

namespace framefs::net::call_retries_test {
namespace {

using Kind = Verdict::Kind;
using Time = CallRetries::Time;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Time kBegin{seconds(100)};
constexpr Time kDeadline = kBegin + seconds(60);

Verdict verdict(Kind kind, int error) {
  return {kind, fs::system_error_of(error, "attempt").error()};
}

// A call of a server that has worked, or has not.
struct Failing {
  explicit Failing(bool worked) : has_worked(worked) {}

  // The errno with which the call ends; 0 if it goes on.
  int fail(Kind kind, int error, Time now = kBegin, std::optional<seconds> pause = std::nullopt) {
    const auto ended = retries.note(verdict(kind, error), pause, has_worked, now);
    return ended ? ended->sys : 0;
  }
  // The same failure again and again: the number of the attempt with which the call ends.
  int attempts(Kind kind, int error) {
    for (int attempt = 1; attempt <= 100; ++attempt) {
      if (const int ended = fail(kind, error)) {
        CHECK(ended == error);
        return attempt;
      }
    }
    return 0;
  }

  CallRetries retries{kDeadline};
  bool has_worked;
};

TEST_CASE("call_retries: a call that cannot succeed ends at once", "[net][call_retries][unit]") {
  CHECK(Failing(true).attempts(Kind::failed, EACCES) == 1);
  CHECK(Failing(false).attempts(Kind::failed, EACCES) == 1);
}

TEST_CASE("call_retries: an invalid answer is asked for a few times", "[net][call_retries][unit]") {
  CHECK(Failing(true).attempts(Kind::doubtful, EIO) == CallRetries::kMaxDoubtfulAnswers);
  CHECK(Failing(false).attempts(Kind::doubtful, EIO) == CallRetries::kMaxDoubtfulAnswers);
}

TEST_CASE("call_retries: a server that has worked has the time of the call",
          "[net][call_retries][unit]") {
  for (const auto kind : {Kind::retry, Kind::slow_down, Kind::again}) {
    Failing call(true);
    CHECK(call.attempts(kind, ECONNREFUSED) == 0);
    CHECK(call.fail(kind, ECONNREFUSED, kDeadline - milliseconds(1)) == 0);
    CHECK(call.fail(kind, ECONNREFUSED, kDeadline) == EIO);
  }
}

TEST_CASE("call_retries: a server that never worked is tried a few times",
          "[net][call_retries][unit]") {
  for (const int unreachable : {ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT}) {
    CHECK(Failing(false).attempts(Kind::retry, unreachable) == CallRetries::kMaxFirstAttempts);
  }
  CHECK(Failing(false).attempts(Kind::retry, EIO) == CallRetries::kMaxFirstFailures);
  CHECK(Failing(false).attempts(Kind::slow_down, EIO) == CallRetries::kMaxFirstFailures);
  // A request to another place is no failure.
  CHECK(Failing(false).attempts(Kind::again, EIO) == 0);
}

TEST_CASE("call_retries: a request that was not made is no attempt", "[net][call_retries][unit]") {
  Failing call(false);
  CHECK(call.attempts(Kind::retry, EAGAIN) == 0);
  CHECK(call.attempts(Kind::retry, ECONNREFUSED) == CallRetries::kMaxFirstAttempts);
  CHECK(call.fail(Kind::retry, EAGAIN, kDeadline) == EIO);
}

TEST_CASE("call_retries: a server that never worked cannot ask for a long pause",
          "[net][call_retries][unit]") {
  constexpr auto kWait = CallRetries::kMaxFirstWait;
  CHECK(Failing(false).fail(Kind::slow_down, ENOSPC, kBegin, kWait) == 0);
  CHECK(Failing(false).fail(Kind::slow_down, ENOSPC, kBegin, kWait + seconds(1)) == ENOSPC);
  CHECK(Failing(true).fail(Kind::slow_down, ENOSPC, kBegin, kWait + seconds(1)) == 0);
}

TEST_CASE("call_retries: a pause beyond the time of the call ends it",
          "[net][call_retries][unit]") {
  CHECK(Failing(true).fail(Kind::slow_down, ENOSPC, kBegin, seconds(59)) == 0);
  CHECK(Failing(true).fail(Kind::slow_down, ENOSPC, kBegin, seconds(60)) == EIO);
}

TEST_CASE("call_retries: of a call that is late, the error before counts",
          "[net][call_retries][unit]") {
  // The last attempt had too little time; an error of another kind has no errno.
  CallRetries retries(kDeadline);
  const Verdict broken{Kind::retry, Error{Errc::checksum, "body"}};
  REQUIRE_FALSE(retries.note(broken, std::nullopt, true, kBegin));
  const auto ended = retries.note(verdict(Kind::retry, ETIMEDOUT), std::nullopt, true, kDeadline);
  REQUIRE(ended);
  CHECK(ended->kind == Errc::checksum);
  // If no attempt failed before, the end of the time is the error.
  CHECK(Failing(true).fail(Kind::retry, ETIMEDOUT, kDeadline) == EIO);
}

TEST_CASE("call_retries: pauses grow, up to a maximum", "[net][call_retries][unit]") {
  const CallRetries retries(kBegin + seconds(1'000));
  auto longest = milliseconds(50);
  for (std::uint64_t attempts = 1; attempts < 40; ++attempts) {
    const auto pause = retries.next(attempts, kBegin) - kBegin;
    CHECK(pause >= longest / 2);
    CHECK(pause <= longest);
    longest = std::min(2 * longest, milliseconds(5'000));
  }
}

TEST_CASE("call_retries: the next attempt comes after the pause of the server, and in time",
          "[net][call_retries][unit]") {
  Failing call(true);
  REQUIRE(call.fail(Kind::slow_down, EIO, kBegin, seconds(20)) == 0);
  CHECK(call.retries.next(1, kBegin) == kBegin + seconds(20));
  CHECK(call.retries.next(1, kBegin + seconds(30)) > kBegin + seconds(30));
  CHECK(call.retries.next(10, kDeadline - milliseconds(1)) == kDeadline);
  // It holds for one attempt.
  REQUIRE(call.fail(Kind::slow_down, EIO, kBegin + seconds(21)) == 0);
  CHECK(call.retries.next(1, kBegin + seconds(21)) < kBegin + seconds(22));
}

}  // namespace
}  // namespace framefs::net::call_retries_test
