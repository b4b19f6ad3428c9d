#pragma once

#include "fs/net/aws_environment.h"
#include "fs/net/credentials.h"
#include "fs/net/transport.h"

namespace framefs::net {

// The endpoint that container platforms (ECS, EKS) announce in the environment.
// Source: https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html
class ContainerCredentials final : public CredentialSource {
 public:
  // Lifetime: `transport` outlives it.
  ContainerCredentials(Transport& transport, const AwsEnvironment& environment)
      : transport_(transport), environment_(environment) {}

  Result<std::optional<Credentials>> fetch() override;

 private:
  Transport& transport_;
  const AwsEnvironment environment_;
};

}  // namespace framefs::net
