#pragma once

#include <csignal>

namespace framefs {

// Holds back the signals that ask a program to end (SIGINT, SIGTERM, SIGHUP) so that it can put away
// what it has begun.  They take effect when the object goes, which then ends the process.
// Make it before any thread is started: threads hold back what their maker held back.
class HeldSignals {
 public:
  HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals();

  // Whether one has arrived.
  [[nodiscard]] bool has_arrived() const;

 private:
  sigset_t held_{};
  sigset_t before_{};
};

}  // namespace framefs
