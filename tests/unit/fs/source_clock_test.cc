#include "fs/write/source_clock.h"

#include <ctime>

#include "fs/core/files/file.h"
#include "tests/support/catch.h"

namespace framefs::fs::source_clock_test {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

timespec later(const timespec& time, std::int64_t ns) {
  const auto all = nanoseconds(time) + ns;
  return {.tv_sec = all / kSecond, .tv_nsec = all % kSecond};
}

TEST_CASE("source_clock: a change is not before a time that SOURCE has shown",
          "[fs][source_clock][unit]") {
  SourceClock clock;
  const auto shown = later(clock.now(), kSecond / 20);
  clock.note(shown);
  CHECK(nanoseconds(clock.now()) >= nanoseconds(shown));
  clock.note(later(shown, 100 * kSecond));  // by a clock that was set back since
  CHECK(nanoseconds(clock.now()) < nanoseconds(later(shown, kSecond)));
}

TEST_CASE("source_clock: a change has another time than the one before",
          "[fs][source_clock][unit]") {
  const SourceClock clock;
  const auto last = later(clock.now(), kSecond / 20);
  CHECK(nanoseconds(clock.now_after(last)) == nanoseconds(last) + 1);
  const timespec end_of_second{.tv_sec = last.tv_sec, .tv_nsec = kSecond - 1};
  const auto next = clock.now_after(end_of_second);
  CHECK((next.tv_nsec >= 0 && next.tv_nsec < kSecond));
  const auto long_ago = later(last, -10 * kSecond);
  CHECK(nanoseconds(clock.now_after(long_ago)) > nanoseconds(last) - kSecond);
  const auto ahead = later(last, 10 * kSecond);  // a program has set it
  CHECK(nanoseconds(clock.now_after(ahead)) < nanoseconds(last) + kSecond);
}

}  // namespace
}  // namespace framefs::fs::source_clock_test
