#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <map>
#include <thread>

namespace framefs::fuse {

// Runs actions for signals that do not end the daemon, on a thread of its own.
// The constructor blocks these signals.  It must run before any thread starts, so that all threads
// inherit the mask.
class SignalListener {
 public:
  using Actions = std::map<int, std::function<void()>>;  // by signal; not empty

  explicit SignalListener(Actions actions);
  SignalListener(const SignalListener&) = delete;
  SignalListener& operator=(const SignalListener&) = delete;
  ~SignalListener() { stop(); }

  // Signals that arrived before this call are handled now.
  void start();
  // Returns when no action runs any more.
  void stop();

 private:
  void listen() const;

  const Actions actions_;
  sigset_t signals_{};
  std::atomic<bool> is_stopping_{false};  // set before the signal that wakes the thread
  std::jthread thread_;
};

}  // namespace framefs::fuse
