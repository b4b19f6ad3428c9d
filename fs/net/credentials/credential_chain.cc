#include "fs/net/credentials/credential_chain.h"

#include <utility>

#include "fs/net/credentials/container_credentials.h"
#include "fs/net/credentials/instance_credentials.h"
#include "fs/net/credentials/process_credentials.h"
#include "fs/net/credentials/role_credentials.h"
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

constexpr const char* kRegion = "us-east-1";
constexpr const char* kSessionName = "framefs";
constexpr int kMaxRoles = 8;  // of which one asks for the next

using Chain = std::unique_ptr<CredentialChain>;

std::string sts_endpoint(const AwsEnvironment& environment, const std::string& region) {
  return environment.find("AWS_ENDPOINT_URL_STS")
      .value_or("https://sts." + (region.empty() ? kRegion : region) + ".amazonaws.com/");
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

// Makes chains of what they all share.
class CredentialChain::Builder {
 public:
  Builder(Transport& transport, const AwsEnvironment& environment, const std::string& region,
          CredentialAccess& access)
      : transport_(transport), environment_(environment), region_(region), access_(access) {}

  Result<Chain> of_user(const AwsProfile& profile, bool is_chosen) {
    Chain chain(new CredentialChain);
    if (!is_chosen) {
      chain->add(of_environment(environment_));
      chain->add(web_identity(environment_.find("AWS_WEB_IDENTITY_TOKEN_FILE"),
                              environment_.find("AWS_ROLE_ARN"),
                              environment_.find("AWS_ROLE_SESSION_NAME")));
    }
    FRAMEFS_TRY(auto own, of_profile(profile));
    if (chain->sources_.empty()) FRAMEFS_CHECK(check_is_known(*own, profile));
    chain->add(std::move(own));
    if (!is_chosen) {
      chain->add(container());
      chain->add(instance());
    }
    return chain;
  }

 private:
  std::unique_ptr<CredentialSource> container() {
    return std::make_unique<ContainerCredentials>(transport_, access_, environment_);
  }
  std::unique_ptr<CredentialSource> instance() {
    return std::make_unique<InstanceCredentials>(transport_, environment_);
  }

  std::unique_ptr<CredentialSource> web_identity(const std::optional<std::string>& token_file,
                                                 const std::optional<std::string>& role,
                                                 const std::optional<std::string>& session) {
    if (!token_file || !role) return nullptr;
    return std::make_unique<WebIdentityCredentials>(
        transport_, access_,
        WebIdentityCredentials::Settings{sts_endpoint(environment_, region_), *token_file, *role,
                                         session.value_or(kSessionName)});
  }

  // A profile with a role says whose credentials ask for it; its own keys then count only if it
  // names itself.
  Result<Chain> of_profile(const AwsProfile& profile) {
    Chain chain(new CredentialChain);
    FRAMEFS_TRY(auto asking, asking_for_role(profile));
    if (asking) {
      chain->add(role(profile, std::move(asking)));
      return chain;
    }
    chain->add(fixed_of_profile(profile));
    if (const auto command = profile.find("credential_process")) {
      chain->add(std::make_unique<ProcessCredentials>(access_, *command));
    }
    chain->add(web_identity(profile.find("web_identity_token_file"), profile.find("role_arn"),
                            profile.find("role_session_name")));
    return chain;
  }

  // The source of the credentials that ask for the role of a profile; none without such a role.
  Result<std::unique_ptr<CredentialSource>> asking_for_role(const AwsProfile& profile) {
    const auto other = profile.find("source_profile");
    const auto place = profile.find("credential_source");
    if (!profile.find("role_arn") || (!other && !place)) return nullptr;
    if (profile.find("mfa_serial")) {
      return codec::fail(Errc::unsupported, "AWS profile: mfa_serial needs a credential_process");
    }
    if (!other) return of_place(*place);
    if (*other == profile.name()) return fixed_of_profile(profile);
    if (++roles_ > kMaxRoles) {
      return codec::fail(Errc::bad_field, "AWS profile: source_profile leads in a circle");
    }
    FRAMEFS_TRY(const auto source, AwsProfile::load(environment_, *other));
    FRAMEFS_TRY(auto chain, of_profile(source));
    FRAMEFS_CHECK(check_is_known(*chain, source));
    return chain;
  }

  // Errors: unsupported if the profile gives no keys but by a sign-on that is not built in.
  static Status check_is_known(const CredentialChain& chain, const AwsProfile& profile) {
    if (!chain.sources_.empty()) return {};
    for (const auto* const setting : {"role_arn", "sso_start_url", "sso_session"}) {
      if (!profile.find(setting)) continue;
      return codec::fail(Errc::unsupported,
                         "AWS profile: sso, and role_arn without source_profile, need a "
                         "credential_process (aws configure export-credentials)");
    }
    return {};
  }

  Result<std::unique_ptr<CredentialSource>> of_place(const std::string& place) {
    if (place == "Environment") return of_environment(environment_);
    if (place == "EcsContainer") return container();
    if (place == "Ec2InstanceMetadata") return instance();
    return codec::fail(Errc::bad_field, "AWS profile: credential_source");
  }

  std::unique_ptr<CredentialSource> role(const AwsProfile& profile,
                                         std::unique_ptr<CredentialSource> asking) {
    return std::make_unique<RoleCredentials>(
        transport_, std::move(asking),
        RoleCredentials::Settings{
            .endpoint = sts_endpoint(environment_, region_),
            .region = region_.empty() ? kRegion : region_,
            .role_arn = *profile.find("role_arn"),
            .session_name = profile.find("role_session_name").value_or(kSessionName),
            .external_id = profile.find("external_id").value_or(""),
            .duration_s = profile.find("duration_seconds").value_or("")});
  }

  Transport& transport_;
  const AwsEnvironment& environment_;
  const std::string& region_;
  CredentialAccess& access_;
  int roles_ = 0;
};

void CredentialChain::add(std::unique_ptr<CredentialSource> source) {
  if (source) sources_.push_back(std::move(source));
}

Result<std::unique_ptr<CredentialChain>> CredentialChain::make(Transport& transport,
                                                               const AwsEnvironment& environment,
                                                               const AwsProfile& profile,
                                                               const Settings& settings,
                                                               CredentialAccess& access) {
  return Builder(transport, environment, settings.region, access)
      .of_user(profile, !settings.profile.empty());
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
