#include "fs/net/http/call_retries.h"

#include <algorithm>
#include <cerrno>
#include <random>

#include "fs/net/http/retry_rules.h"

namespace framefs::net {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstRetryPause{50};
constexpr milliseconds kLongestRetryPause{5'000};

milliseconds pause_after(std::uint64_t attempts) {
  thread_local std::minstd_rand random{std::random_device{}()};
  const auto doublings = std::min<std::uint64_t>(attempts - 1, 10);
  const auto whole = std::min(kLongestRetryPause, kFirstRetryPause * (1 << doublings));
  std::uniform_int_distribution<milliseconds::rep> half(whole.count() / 2, whole.count());
  return milliseconds(half(random));
}

// The error that a reader gets for a call that did not succeed in time.
Error too_late(Error last) {
  if (last.kind == Errc::system) last.sys = EIO;
  return last;
}

}  // namespace

std::optional<Error> CallRetries::note(const Verdict& verdict,
                                       std::optional<std::chrono::seconds> pause, bool has_worked,
                                       Time now) {
  if (verdict.kind == Verdict::Kind::doubtful) ++doubtful_answers_;
  not_before_ = now + pause.value_or(std::chrono::seconds(0));
  if (verdict.kind == Verdict::Kind::failed || doubtful_answers_ >= kMaxDoubtfulAnswers) {
    return verdict.error;
  }
  const bool was_sent = !is_not_made_yet(verdict);
  if (was_sent) ++sent_in_vain_;
  if (was_sent && !has_worked && is_transient(verdict)) {
    const auto most = is_unreachable(verdict.error) ? kMaxFirstAttempts : kMaxFirstFailures;
    if (sent_in_vain_ >= most || (pause && *pause > kMaxFirstWait)) return verdict.error;
  }
  if (now >= deadline_ || not_before_ >= deadline_) {
    // The last attempt may have failed for want of time alone.
    const bool is_late = verdict.error.sys == ETIMEDOUT && last_error_;
    return too_late(is_late ? *last_error_ : verdict.error);
  }
  last_error_ = verdict.error;
  return std::nullopt;
}

auto CallRetries::next(std::uint64_t attempts, Time now) const -> Time {
  return std::min(deadline_, std::max(not_before_, now + pause_after(attempts)));
}

}  // namespace framefs::net
