#pragma once

#include <string>

#include "fs/fuse/confine/watchdog.h"
#include "fs/net/credentials/credential_access.h"

namespace framefs::fuse {

// The credential access of a daemon inside its sandbox.
// Lifetime: the watchdog outlives it.
class WatchdogAccess final : public net::CredentialAccess {
 public:
  explicit WatchdogAccess(const Watchdog& watchdog) : watchdog_(watchdog) {}

  void keep_file(const std::string& path) override { watchdog_.keep_file(path); }
  void keep_program(const std::string& command) override { watchdog_.keep_program(command); }
  [[nodiscard]] Result<fs::UniqueFd> open_file(const std::string& path) const override {
    return watchdog_.open_file(path);
  }
  // The watchdog runs the command that keep_program() has announced.
  [[nodiscard]] Result<std::unique_ptr<net::RunningProgram>> start_program(
      const std::string& command) const override;

 private:
  const Watchdog& watchdog_;
};

}  // namespace framefs::fuse
