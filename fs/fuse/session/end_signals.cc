#include "fs/fuse/session/end_signals.h"

#include <atomic>
#include <cstddef>

namespace framefs::fuse {
namespace {

std::atomic<bool> has_arrived{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // the handler sets it

void note(int) { has_arrived.store(true); }

// Sets a handler, unless the signal has another one or is ignored.
void handle(int signal, void (*handler)(int), struct sigaction& before) {
  ::sigaction(signal, nullptr, &before);
  if (before.sa_handler != SIG_DFL) return;
  struct sigaction action{};
  action.sa_handler = handler;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

EndSignals::EndSignals() {
  has_arrived.store(false);
  for (std::size_t i = 0; i < std::size(kSignals); ++i) handle(kSignals[i], note, before_[i]);
  handle(SIGPIPE, SIG_IGN, before_pipe_);
}

EndSignals::~EndSignals() {
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  ::sigaction(SIGPIPE, &before_pipe_, nullptr);
}

sigset_t EndSignals::set() noexcept {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : kSignals) ::sigaddset(&signals, signal);
  return signals;
}

bool is_ending(fuse_session* session) noexcept {
  return has_arrived.load() || fuse_session_exited(session) != 0;
}

}  // namespace framefs::fuse
