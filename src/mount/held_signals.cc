#include "src/mount/held_signals.h"

#include <array>

namespace framefs {
namespace {

constexpr std::array kEndings = {SIGINT, SIGTERM, SIGHUP};

// An ignored signal (nohup) stays ignored: if it were blocked, sigpending() would report it.
bool is_ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

HeldSignals::HeldSignals() {
  ::sigemptyset(&held_);
  for (const int signal : kEndings) {
    if (!is_ignored(signal)) ::sigaddset(&held_, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &held_, &before_);
}

HeldSignals::~HeldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool HeldSignals::has_arrived() const {
  sigset_t pending{};
  if (::sigpending(&pending) != 0) return false;
  for (const int signal : kEndings) {
    if (::sigismember(&held_, signal) == 1 && ::sigismember(&pending, signal) == 1) return true;
  }
  return false;
}

}  // namespace framefs
