#include "fs/fuse/session/signal_listener.h"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

namespace framefs::fuse {

codec::Result<SignalListener> SignalListener::open(Actions actions) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const auto& [signal, action] : actions) ::sigaddset(&signals, signal);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  fs::UniqueFd arrived(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!arrived) return fs::system_error("signalfd");
  return SignalListener(std::move(actions), std::move(arrived));
}

void SignalListener::run_actions() const {
  signalfd_siginfo one{};
  while (::read(arrived_.get(), &one, sizeof(one)) == sizeof(one)) {
    const auto action = actions_.find(static_cast<int>(one.ssi_signo));
    if (action != actions_.end()) action->second();
  }
}

}  // namespace framefs::fuse
