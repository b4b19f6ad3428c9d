#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fs/net/credentials/secret.h"

namespace framefs::net {

// The environment variables that S3 tools use.  They are read once.
// Threads: any number, after construction.
class AwsEnvironment {
 public:
  using Variables = std::map<std::string, std::string, std::less<>>;

  AwsEnvironment() = default;
  // Uses `variables` in place of the environment.
  explicit AwsEnvironment(Variables variables);

  // Reads the environment of the process.  It overwrites the secrets in place, so that neither
  // /proc/PID/environ nor a child process shows them afterwards.
  // Threads: only while the process has a single thread.
  static AwsEnvironment take();

  // The value of a variable.  Nothing if the variable is not set or is empty.
  [[nodiscard]] std::optional<std::string> find(std::string_view name) const;
  [[nodiscard]] Secret secret_key() const { return secret_key_; }
  [[nodiscard]] Secret session_token() const { return session_token_; }
  [[nodiscard]] Secret container_token() const { return container_token_; }
  // The path `~/rest`, where `~` is the home of the user.
  [[nodiscard]] std::string in_home(std::string_view rest) const;

 private:
  Variables variables_;
  Secret secret_key_;
  Secret session_token_;
  Secret container_token_;
};

}  // namespace framefs::net
