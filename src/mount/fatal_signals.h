#pragma once

#include <array>
#include <csignal>
#include <string>

namespace framefs {

// Reports a signal that ends the daemon by a fault, such as SIGSEGV or SIGABRT: one line with the
// signal, the version and the build id.  The watchdog then removes the mount.  A signal that has
// another handler already, as under a sanitizer, is left alone.
//
// A thread whose stack has overflowed cannot run a handler.  Then the watchdog alone reports that
// the daemon is gone.
// Threads: at most one object at a time, which outlives all threads of the daemon.
class FatalSignals {
 public:
  // `log` is the descriptor that takes the line in one write, and `before` the text before it;
  // there is no report if `log` is -1.
  FatalSignals(int log, std::string before);
  FatalSignals(const FatalSignals&) = delete;
  FatalSignals& operator=(const FatalSignals&) = delete;
  ~FatalSignals();

 private:
  static constexpr std::array kSignals = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
  std::array<struct sigaction, kSignals.size()> before_{};
};

// The id of this build, which finds the debug information of a crash, in hexadecimal; "" if the
// linker wrote none.
std::string build_id();

}  // namespace framefs
