#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <utility>

#include "fs/net/credentials/credential_access.h"
#include "fs/net/credentials/credentials.h"

namespace framefs::net {

// Runs the program that a profile names as its credential_process.
// Source: https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html
class ProcessCredentials final : public CredentialSource {
 public:
  // Lifetime: `access` outlives it.
  ProcessCredentials(CredentialAccess& access, std::string command)
      : access_(access), command_(std::move(command)) {
    access.keep_program(command_);
  }

  // Errors: system if the program does not start, fails or takes longer than a minute.
  Result<std::optional<Credentials>> fetch() override;
  void cancel() noexcept override { is_cancelled_.store(true); }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] Status run(std::string& output) const;
  [[nodiscard]] Status read_output(int fd, Clock::time_point end, std::string& output) const;
  // Errors: the fetch must end.
  [[nodiscard]] Status check(Clock::time_point end) const;

  const CredentialAccess& access_;
  const std::string command_;
  std::atomic<bool> is_cancelled_{false};
};

}  // namespace framefs::net
