#pragma once

#include <optional>
#include <string>

#include "fs/net/credentials/secret.h"
#include "fs/net/http/timestamp.h"
#include "fs/net/http/url.h"

namespace framefs::net {

// The credentials that sign requests to S3.
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

  // The current credentials.  Nothing if this place has none; the chain then asks the next place.
  // The call may take seconds.
  // Errors: this place should have credentials but failed to supply them.
  virtual Result<std::optional<Credentials>> fetch() = 0;
  // Makes fetch() return soon, now and later.  May be called during fetch(), by any thread.
  virtual void cancel() noexcept {}
};

}  // namespace framefs::net
