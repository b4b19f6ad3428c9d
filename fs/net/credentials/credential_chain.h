#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fs/net/credentials/aws_environment.h"
#include "fs/net/credentials/aws_profile.h"
#include "fs/net/credentials/credential_access.h"
#include "fs/net/credentials/credentials.h"
#include "fs/net/http/transport.h"

namespace framefs::net {

// Asks the same places for credentials as S3 tools do, in the same order: environment, web
// identity, shared files with credential_process and roles, container, instance.  Each fetch
// returns the first credentials that it finds in this order.
class CredentialChain final : public CredentialSource {
 public:
  struct Settings {
    std::string profile;  // chosen by the user; keys in the environment are then ignored
    std::string region;
  };
  // Announces the files and the program of its sources to `access`; fetches nothing.
  // Lifetime: `transport` and `access` outlive it.
  // Errors: those of AwsProfile::load(), also of the profiles that it names as source_profile;
  // unsupported if the profile needs a kind of sign-on that is not built in; bad_field if profiles
  // name one another in a circle.
  static Result<std::unique_ptr<CredentialChain>> make(Transport& transport,
                                                       const AwsEnvironment& environment,
                                                       const AwsProfile& profile,
                                                       const Settings& settings,
                                                       CredentialAccess& access);

  Result<std::optional<Credentials>> fetch() override;
  void cancel() noexcept override;

 private:
  class Builder;

  CredentialChain() = default;
  void add(std::unique_ptr<CredentialSource> source);

  std::vector<std::unique_ptr<CredentialSource>> sources_;
};

}  // namespace framefs::net
