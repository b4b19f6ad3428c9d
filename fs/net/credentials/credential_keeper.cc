#include "fs/net/credentials/credential_keeper.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "fs/core/files/file.h"
#include "fs/core/threads/background_thread.h"

namespace framefs::net {
namespace {

using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

// The pause after a failure, and the shortest time between two fetches.  A source may hand out
// credentials that have already expired; the pause keeps the thread from asking it in a tight loop.
constexpr seconds kPause{5};
constexpr seconds kLongestPause{60};
// The longest wait.  The thread looks at the clock this often, because the clock may be set
// meanwhile.
constexpr seconds kLongestWait{60};

}  // namespace

CredentialKeeper::CredentialKeeper(std::unique_ptr<CredentialSource> source, Now now)
    : source_(std::move(source)), now_(std::move(now)) {}

std::unique_ptr<CredentialKeeper> CredentialKeeper::anonymous() {
  return std::make_unique<CredentialKeeper>(nullptr, [] { return UnixSeconds{0}; });
}

Status CredentialKeeper::start() {
  if (!source_) return {};
  FRAMEFS_TRY(auto first, source_->fetch());
  if (!first) return fs::refusal(EACCES, "no S3 credentials were found; --anonymous does without");
  state_.with([&](State& state) { state.credentials = std::move(*first); });
  thread_ = fs::background_thread([this](const std::stop_token&) { run(); });
  return {};
}

CredentialKeeper::~CredentialKeeper() {
  if (source_) source_->cancel();
  state_.with_and_wake([](State& state) { state.stopped = true; });
}

Result<Credentials> CredentialKeeper::current() const {
  auto credentials = state_.with([](const State& state) { return state.credentials; });
  if (credentials.expires && *credentials.expires <= now_()) {
    return fs::system_error_of(EAGAIN, "S3 credentials: expired");
  }
  return credentials;
}

void CredentialKeeper::refuse(const std::string& access_key) {
  state_.with_and_wake([&](State& state) {
    if (state.credentials.access_key == access_key) state.wanted = true;
  });
}

std::chrono::steady_clock::time_point CredentialKeeper::next_fetch(const State& state) const {
  auto wait = kLongestWait;
  if (const auto& expires = state.credentials.expires) {
    wait = std::clamp(seconds(*expires - now_()) - kAhead, kPause, kLongestWait);
  }
  if (state.failures > 0) {
    wait = std::min(kLongestPause, kPause * static_cast<int>(std::min<std::uint64_t>(
                                                state.failures, kLongestPause / kPause)));
  }
  return Clock::now() + wait;
}

void CredentialKeeper::run() {
  const auto is_due = [this](const State& state) {
    const auto& expires = state.credentials.expires;
    return expires && *expires - kAhead.count() <= now_();
  };
  auto earliest = Clock::now();
  while (true) {
    const auto until = state_.with([&](const State& state) { return next_fetch(state); });
    const bool stopped = state_.wait_until(
        until, [](const State& state) { return state.stopped || state.wanted; },
        [](const State& state) { return state.stopped; });
    if (stopped) return;
    const bool due = state_.with([&](const State& state) { return state.wanted || is_due(state); });
    if (!due) continue;
    const bool stopped_meanwhile = state_.wait_until(
        earliest, [](const State& state) { return state.stopped; },
        [](const State& state) { return state.stopped; });
    if (stopped_meanwhile) return;
    auto fresh = source_->fetch();
    earliest = Clock::now() + kPause;
    state_.with([&](State& state) {
      state.wanted = false;
      const bool got = fresh && *fresh;
      state.failures = got ? 0 : state.failures + 1;
      if (got) state.credentials = std::move(**fresh);
    });
  }
}

}  // namespace framefs::net
