#pragma once

#include <csignal>
#include <functional>
#include <map>

#include "codec/core/result.h"
#include "fs/core/files/file.h"

namespace framefs::fuse {

// Runs actions for signals that do not end the daemon, in the thread that waits for the end of the
// session: a thread of its own would sleep all the time.
// Threads: one.
class SignalListener {
 public:
  using Actions = std::map<int, std::function<void()>>;  // by signal; not empty

  // Blocks these signals.  Must be called before any thread starts, so that all threads inherit the
  // mask.  Errors: system.
  static codec::Result<SignalListener> open(Actions actions);

  // Becomes readable when a signal has arrived.
  [[nodiscard]] int fd() const noexcept { return arrived_.get(); }
  // Runs the actions of the signals that have arrived, each once.
  void run_actions() const;

 private:
  SignalListener(Actions actions, fs::UniqueFd arrived)
      : actions_(std::move(actions)), arrived_(std::move(arrived)) {}

  Actions actions_;
  fs::UniqueFd arrived_;
};

}  // namespace framefs::fuse
