#pragma once

#include <memory>
#include <string>
#include <utility>

#include "fs/net/credentials/credentials.h"
#include "fs/net/http/transport.h"

namespace framefs::net {

// Exchanges the credentials of a source for those of a role, as a profile with role_arn and
// source_profile or credential_source asks for.
// Source: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
class RoleCredentials final : public CredentialSource {
 public:
  struct Settings {
    std::string endpoint;  // of STS
    std::string region;    // that the request is signed for
    std::string role_arn;
    std::string session_name;
    std::string external_id;  // "": none
    std::string duration_s;   // a number; "": as long as STS likes
  };
  // Lifetime: `transport` outlives it.
  RoleCredentials(Transport& transport, std::unique_ptr<CredentialSource> source, Settings settings)
      : transport_(transport), source_(std::move(source)), settings_(std::move(settings)) {}

  // Errors: also those of the source; system, EACCES if the source has nothing, or if STS refuses.
  Result<std::optional<Credentials>> fetch() override;
  void cancel() noexcept override { source_->cancel(); }

 private:
  Transport& transport_;
  const std::unique_ptr<CredentialSource> source_;
  const Settings settings_;
};

}  // namespace framefs::net
