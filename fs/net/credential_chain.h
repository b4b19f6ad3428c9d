#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fs/net/aws_environment.h"
#include "fs/net/aws_profile.h"
#include "fs/net/credentials.h"
#include "fs/net/transport.h"

namespace framefs::net {

// Asks the places where S3 tools look for credentials, in the order in which those do: environment,
// web identity, shared files with credential_process, container, instance.  The first that has some
// is asked for all later ones.
class CredentialChain final : public CredentialSource {
 public:
  struct Settings {
    std::string profile;  // as the user named it; the environment's own keys are then left aside
    std::string region;
  };
  // Lifetime: `transport` outlives it.
  // Errors: as AwsProfile::load(); unsupported for a profile that needs a sign-on of a kind that is
  // not built in.
  static Result<std::unique_ptr<CredentialChain>> make(Transport& transport,
                                                       const AwsEnvironment& environment,
                                                       const AwsProfile& profile,
                                                       const Settings& settings);

  Result<std::optional<Credentials>> fetch() override;

 private:
  CredentialChain() = default;

  std::vector<std::unique_ptr<CredentialSource>> sources_;
};

}  // namespace framefs::net
