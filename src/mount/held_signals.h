#pragma once

#include <csignal>

namespace framefs {

// Blocks the signals that ask a program to end (SIGINT, SIGTERM, SIGHUP), so that the program can
// complete or remove unfinished work.  The destructor unblocks the signals; a pending one then ends
// the process.
// Threads: create it before any thread is started, because threads inherit the signal mask.
class HeldSignals {
 public:
  HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals();

  // Returns whether a blocked signal is pending.
  [[nodiscard]] bool has_arrived() const;

 private:
  sigset_t held_{};
  sigset_t before_{};
};

}  // namespace framefs
