#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fs/net/secret.h"

namespace framefs::net {

// The environment variables that S3 tools go by, taken once.
// Threads: any number, after construction.
class AwsEnvironment {
 public:
  using Variables = std::map<std::string, std::string, std::less<>>;

  AwsEnvironment() = default;
  // As if `variables` were the environment.
  explicit AwsEnvironment(Variables variables);

  // The process' own.  The secrets in it are overwritten where they stand, so that neither
  // /proc/PID/environ nor a child shows them any more.
  // Threads: while there is but one.
  static AwsEnvironment take();

  // Nothing where the variable is not set or empty.
  [[nodiscard]] std::optional<std::string> find(std::string_view name) const;
  [[nodiscard]] Secret secret_key() const { return secret_key_; }
  [[nodiscard]] Secret session_token() const { return session_token_; }
  [[nodiscard]] Secret container_token() const { return container_token_; }
  // `~/rest`, for the home of the user.
  [[nodiscard]] std::string in_home(std::string_view rest) const;

 private:
  Variables variables_;
  Secret secret_key_;
  Secret session_token_;
  Secret container_token_;
};

}  // namespace framefs::net
