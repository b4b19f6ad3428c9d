#pragma once

#include <string>

#include "fs/net/credentials/aws_environment.h"
#include "fs/net/credentials/credentials.h"
#include "fs/net/http/transport.h"

namespace framefs::net {

// The metadata service of the machine (IMDS), in its second version, which requires a token.
// Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
class InstanceCredentials final : public CredentialSource {
 public:
  // Lifetime: `transport` outlives it.
  InstanceCredentials(Transport& transport, const AwsEnvironment& environment)
      : transport_(transport), environment_(environment) {}

  Result<std::optional<Credentials>> fetch() override;

 private:
  // Sends one request to the service.  Nothing if the machine has no such service.
  Result<std::string> ask(const char* method, const std::string& path, const std::string& token);

  Transport& transport_;
  const AwsEnvironment environment_;
};

}  // namespace framefs::net
