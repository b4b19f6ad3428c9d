#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "fs/net/http/verdict.h"
#include "fs/net/result.h"

namespace framefs::net {

// The failed attempts of one call, and whether and when the call is tried again.  Until a server
// has worked once, the URL may be wrong, and a mount waits for the answer: the call then ends after
// a few attempts.
// Threads: one at a time.
class CallRetries {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // The call has the time until `deadline` for all attempts together.
  explicit CallRetries(Time deadline) : deadline_(deadline) {}

  // An attempt has failed.  Returns the error with which the call ends; nothing if it is tried
  // again.  `verdict` is another than `done`; `pause` is the one that the server asks for;
  // `has_worked`: a server of the mount has answered, and could do what was asked or refused it.
  // An error for want of time has EIO.
  std::optional<Error> note(const Verdict& verdict, std::optional<std::chrono::seconds> pause,
                            bool has_worked, Time now);

  // The time of the next attempt, after `attempts` of the call have been made.  The pause doubles
  // with each attempt.  Half of it is random, so that many clients do not come back together.
  [[nodiscard]] Time next(std::uint64_t attempts, Time now) const;

  [[nodiscard]] Time deadline() const { return deadline_; }

  static constexpr std::uint64_t kMaxDoubtfulAnswers = 3;
  // Attempts of a call while no server has worked: those that reach none, and all.
  static constexpr std::uint64_t kMaxFirstAttempts = 4;
  static constexpr std::uint64_t kMaxFirstFailures = 6;
  static constexpr std::chrono::seconds kMaxFirstWait{5};

 private:
  const Time deadline_;
  std::uint64_t sent_in_vain_ = 0;  // attempts that failed after their request was made
  std::uint64_t doubtful_answers_ = 0;
  std::optional<Error> last_error_;  // of the last attempt that was tried again
  Time not_before_{};                // the server asks for no earlier attempt
};

}  // namespace framefs::net
