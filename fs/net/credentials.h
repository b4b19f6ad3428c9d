#pragma once

#include <optional>
#include <string>

#include "fs/net/secret.h"
#include "fs/net/timestamp.h"
#include "fs/net/url.h"

namespace framefs::net {

// What requests to S3 are signed with.
struct Credentials {
  std::string access_key;  // empty: anonymous, nothing is signed
  Secret secret_key;
  Secret session_token;
  std::optional<UnixSeconds> expires;

  [[nodiscard]] bool is_anonymous() const { return access_key.empty(); }
};

// One place where credentials may come from.
// Threads: one at a time.
class CredentialSource {
 public:
  CredentialSource() = default;
  CredentialSource(const CredentialSource&) = delete;
  CredentialSource& operator=(const CredentialSource&) = delete;
  virtual ~CredentialSource() = default;

  // The credentials as they are now; nothing where this place has none, so that the next is asked.
  // May take seconds.
  // Errors: this place should have had some and failed.
  virtual Result<std::optional<Credentials>> fetch() = 0;
};

}  // namespace framefs::net
