#include "fs/write/source_clock.h"

#include "fs/core/files/file.h"

namespace framefs::fs {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// More than a tick of the coarse clock: a later time comes from a clock that was set back.
constexpr std::int64_t kMaxAhead = kSecond / 10;

}  // namespace

timespec SourceClock::now() const noexcept {
  timespec time{};
  static_cast<void>(::clock_gettime(CLOCK_REALTIME_COARSE, &time));  // every kernel has this clock
  const auto latest = latest_ns_.load(std::memory_order_relaxed);
  const auto ahead = latest - nanoseconds(time);
  if (ahead <= 0 || ahead > kMaxAhead) return time;
  return {.tv_sec = latest / kSecond, .tv_nsec = latest % kSecond};
}

timespec SourceClock::now_after(const timespec& last) const noexcept {
  const auto time = now();
  const auto ahead = nanoseconds(last) - nanoseconds(time);
  if (ahead < 0 || ahead >= kMaxAhead) return time;
  const auto next = nanoseconds(last) + 1;
  return {.tv_sec = next / kSecond, .tv_nsec = next % kSecond};
}

void SourceClock::note(const timespec& time) noexcept {
  const auto ns = nanoseconds(time);
  auto latest = latest_ns_.load(std::memory_order_relaxed);
  while (ns > latest && !latest_ns_.compare_exchange_weak(latest, ns, std::memory_order_relaxed)) {
  }
}

}  // namespace framefs::fs
