#pragma once

#include <string>
#include <utility>

#include "fs/net/credentials.h"

namespace framefs::net {

// Runs the program that a profile names as its credential_process.
// Source: https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html
class ProcessCredentials final : public CredentialSource {
 public:
  explicit ProcessCredentials(std::string command) : command_(std::move(command)) {}

  // Errors: system if the program does not start, fails or takes longer than a minute.
  Result<std::optional<Credentials>> fetch() override;

 private:
  const std::string command_;
};

}  // namespace framefs::net
