#include "fs/net/credentials/credential_chain.h"

#include <utility>

#include "fs/net/credentials/container_credentials.h"
#include "fs/net/credentials/instance_credentials.h"
#include "fs/net/credentials/process_credentials.h"
#include "fs/net/credentials/web_identity_credentials.h"

namespace framefs::net {
namespace {

class FixedCredentials final : public CredentialSource {
 public:
  explicit FixedCredentials(Credentials credentials) : credentials_(std::move(credentials)) {}
  Result<std::optional<Credentials>> fetch() override { return credentials_; }

 private:
  const Credentials credentials_;
};

std::string sts_endpoint(const AwsEnvironment& environment, const std::string& region) {
  return environment.find("AWS_ENDPOINT_URL_STS")
      .value_or("https://sts." + (region.empty() ? "us-east-1" : region) + ".amazonaws.com/");
}

std::unique_ptr<CredentialSource> of_environment(const AwsEnvironment& environment) {
  const auto access_key = environment.find("AWS_ACCESS_KEY_ID");
  if (!access_key || environment.secret_key().empty()) return nullptr;
  return std::make_unique<FixedCredentials>(
      Credentials{.access_key = *access_key,
                  .secret_key = environment.secret_key(),
                  .session_token = environment.session_token(),
                  .expires = std::nullopt});
}

std::unique_ptr<CredentialSource> fixed_of_profile(const AwsProfile& profile) {
  const auto access_key = profile.find("aws_access_key_id");
  const auto secret_key = profile.find("aws_secret_access_key");
  if (!access_key || !secret_key) return nullptr;
  return std::make_unique<FixedCredentials>(
      Credentials{.access_key = *access_key,
                  .secret_key = Secret(*secret_key),
                  .session_token = Secret(profile.find("aws_session_token").value_or("")),
                  .expires = std::nullopt});
}

}  // namespace

Result<std::unique_ptr<CredentialChain>> CredentialChain::make(Transport& transport,
                                                               const AwsEnvironment& environment,
                                                               const AwsProfile& profile,
                                                               const Settings& settings,
                                                               CredentialAccess& access) {
  std::unique_ptr<CredentialChain> chain(new CredentialChain);
  const auto add = [&](std::unique_ptr<CredentialSource> source) {
    if (source) chain->sources_.push_back(std::move(source));
  };
  const auto add_web_identity = [&](const auto& token_file, const auto& role, const auto& session) {
    if (!token_file || !role) return;
    add(std::make_unique<WebIdentityCredentials>(
        transport, access,
        WebIdentityCredentials::Settings{sts_endpoint(environment, settings.region), *token_file,
                                         *role, session.value_or("framefs")}));
  };
  if (settings.profile.empty()) {
    add(of_environment(environment));
    add_web_identity(environment.find("AWS_WEB_IDENTITY_TOKEN_FILE"),
                     environment.find("AWS_ROLE_ARN"), environment.find("AWS_ROLE_SESSION_NAME"));
  }
  add(fixed_of_profile(profile));
  if (const auto command = profile.find("credential_process")) {
    add(std::make_unique<ProcessCredentials>(access, *command));
  }
  add_web_identity(profile.find("web_identity_token_file"), profile.find("role_arn"),
                   profile.find("role_session_name"));
  if (chain->sources_.empty() &&
      (profile.find("role_arn") || profile.find("sso_start_url") || profile.find("sso_session"))) {
    return codec::fail(Errc::unsupported,
                       "AWS profile: role_arn and sso need a credential_process "
                       "(aws configure export-credentials)");
  }
  if (settings.profile.empty()) {
    add(std::make_unique<ContainerCredentials>(transport, access, environment));
    add(std::make_unique<InstanceCredentials>(transport, environment));
  }
  return chain;
}

Result<std::optional<Credentials>> CredentialChain::fetch() {
  for (const auto& source : sources_) {
    FRAMEFS_TRY(auto found, source->fetch());
    if (found) return found;
  }
  return std::nullopt;
}

void CredentialChain::cancel() noexcept {
  for (const auto& source : sources_) source->cancel();
}

}  // namespace framefs::net
