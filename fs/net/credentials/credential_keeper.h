#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "fs/core/threads/guarded.h"
#include "fs/net/credentials/credentials.h"

namespace framefs::net {

// Keeps credentials fresh.  A thread fetches new credentials before the old ones expire, and when a
// server refuses them.
// Threads: any number.
class CredentialKeeper {
 public:
  using Now = std::function<UnixSeconds()>;

  CredentialKeeper(std::unique_ptr<CredentialSource> source, Now now);
  // A keeper of anonymous credentials, with which requests are not signed.
  static std::unique_ptr<CredentialKeeper> anonymous();
  ~CredentialKeeper();

  // Fetches the first credentials and starts the thread.  Must be called before current().
  // Errors: those of the source; system, with EACCES, if the source has no credentials.
  Status start();

  // The current credentials.  Does not wait.
  // Errors: system, with EAGAIN, if the credentials have expired and the thread fetches new ones.
  Result<Credentials> current() const;

  // A server called the credentials with this key expired or unknown.  The thread then fetches new
  // credentials, unless it has already replaced these.
  void refuse(const std::string& access_key);

  // Whether the keeper replaces credentials that expire.
  [[nodiscard]] bool can_refresh() const {
    return state_.with([](const State& state) { return state.credentials.expires.has_value(); });
  }

  // The thread replaces credentials this long before they expire.
  static constexpr std::chrono::seconds kAhead{300};

 private:
  struct State {
    Credentials credentials;
    bool wanted = false;  // new ones, at once
    bool stopped = false;
    std::uint64_t failures = 0;  // in a row
  };

  void run();
  // The latest time at which the thread must fetch again.
  [[nodiscard]] std::chrono::steady_clock::time_point next_fetch(const State& state) const;

  const std::unique_ptr<CredentialSource> source_;  // null: anonymous
  const Now now_;
  fs::Guarded<State> state_;
  std::jthread thread_;
};

}  // namespace framefs::net
