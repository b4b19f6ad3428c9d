#pragma once

#include <string>
#include <utility>

#include "fs/net/credentials/credential_access.h"
#include "fs/net/credentials/credentials.h"
#include "fs/net/http/transport.h"

namespace framefs::net {

// Exchanges a token for credentials of a role.  The platform writes the token to a file.
// Source: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
class WebIdentityCredentials final : public CredentialSource {
 public:
  struct Settings {
    std::string endpoint;  // of STS
    std::string token_file;
    std::string role_arn;
    std::string session_name;
  };
  // Lifetime: `transport` and `access` outlive it.
  WebIdentityCredentials(Transport& transport, CredentialAccess& access, Settings settings)
      : transport_(transport), access_(access), settings_(std::move(settings)) {
    access.keep_file(settings_.token_file);
  }

  Result<std::optional<Credentials>> fetch() override;

 private:
  Transport& transport_;
  const CredentialAccess& access_;
  const Settings settings_;
};

}  // namespace framefs::net
