#include "fs/fuse/session/signal_listener.h"

#include <pthread.h>

#include <utility>

#include "fs/core/background_thread.h"

namespace framefs::fuse {

SignalListener::SignalListener(Actions actions) : actions_(std::move(actions)) {
  ::sigemptyset(&signals_);
  for (const auto& [signal, action] : actions_) ::sigaddset(&signals_, signal);
  ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

void SignalListener::start() {
  // All signals are blocked there.  A signal that ends the daemon must reach the thread that waits
  // for the end of the session.
  thread_ = fs::background_thread([this](const std::stop_token&) { listen(); });
}

void SignalListener::stop() {
  if (!thread_.joinable()) return;
  is_stopping_.store(true);
  ::pthread_kill(thread_.native_handle(), actions_.begin()->first);
  thread_.join();
}

void SignalListener::listen() const {
  while (true) {
    const int signal = ::sigwaitinfo(&signals_, nullptr);
    if (is_stopping_.load()) return;
    const auto action = actions_.find(signal);
    if (action != actions_.end()) action->second();
  }
}

}  // namespace framefs::fuse
