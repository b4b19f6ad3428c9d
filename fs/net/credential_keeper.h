#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "fs/core/guarded.h"
#include "fs/net/credentials.h"

namespace framefs::net {

// Credentials that are always fresh: a thread fetches new ones before the old expire, and when a
// server refuses them.
// Threads: any number.
class CredentialKeeper {
 public:
  using Now = std::function<UnixSeconds()>;

  // Fetches the first ones.
  // Errors: the source's; system, EACCES, where there are none.
  static Result<std::unique_ptr<CredentialKeeper>> start(std::unique_ptr<CredentialSource> source,
                                                         Now now);
  // Signs nothing.
  static std::unique_ptr<CredentialKeeper> anonymous();
  ~CredentialKeeper();

  // The credentials as they are, without waiting.
  // Errors: system, EAGAIN, where they have expired and new ones are on their way.
  Result<Credentials> current() const;

  // A server called the credentials with this key expired or unknown: new ones are fetched, unless
  // that has happened since.
  void refuse(const std::string& access_key);

  // Whether others follow the ones that expire.
  [[nodiscard]] bool can_refresh() const {
    return state_.with([](const State& state) { return state.credentials.expires.has_value(); });
  }

  // How long before they expire credentials are replaced.
  static constexpr std::chrono::seconds kAhead{300};

 private:
  struct State {
    Credentials credentials;
    bool wanted = false;  // new ones, at once
    bool stopped = false;
    std::uint64_t failures = 0;  // in a row
  };

  CredentialKeeper(std::unique_ptr<CredentialSource> source, Now now, Credentials first);
  void run();
  // When the thread is to fetch again at the latest.
  [[nodiscard]] std::chrono::steady_clock::time_point next_fetch(const State& state) const;

  const std::unique_ptr<CredentialSource> source_;
  const Now now_;
  fs::Guarded<State> state_;
  std::jthread thread_;
};

}  // namespace framefs::net
