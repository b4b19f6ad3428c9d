#pragma once

#include <string>

#include "fs/net/credentials/aws_environment.h"
#include "fs/net/credentials/credential_access.h"
#include "fs/net/credentials/credentials.h"
#include "fs/net/http/transport.h"

namespace framefs::net {

// The endpoint that container platforms (ECS, EKS) announce in the environment.
// Source: https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html
class ContainerCredentials final : public CredentialSource {
 public:
  // Lifetime: `transport` and `access` outlive it.
  ContainerCredentials(Transport& transport, CredentialAccess& access,
                       const AwsEnvironment& environment);

  Result<std::optional<Credentials>> fetch() override;

 private:
  [[nodiscard]] Result<std::string> read_token() const;

  Transport& transport_;
  const CredentialAccess& access_;
  const AwsEnvironment environment_;
};

}  // namespace framefs::net
