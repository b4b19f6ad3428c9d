#include "fs/net/credentials/aws_environment.h"

#include <stdlib.h>
#include <string.h>

#include <array>
#include <utility>

namespace framefs::net {
namespace {

constexpr const char* kSecretKey = "AWS_SECRET_ACCESS_KEY";
constexpr const char* kSessionToken = "AWS_SESSION_TOKEN";
constexpr const char* kContainerToken = "AWS_CONTAINER_AUTHORIZATION_TOKEN";

// The variables that hold no secret.
constexpr std::array kNames{
    "AWS_ACCESS_KEY_ID",
    "AWS_CONFIG_FILE",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_DEFAULT_PROFILE",
    "AWS_DEFAULT_REGION",
    "AWS_EC2_METADATA_DISABLED",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL_STS",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "HOME",
};

Secret take_secret(const char* name) {
  char* const value = ::getenv(name);
  if (value == nullptr) return {};
  Secret secret(value);
  wipe(value, ::strlen(value));
  ::unsetenv(name);
  return secret;
}

Secret move_secret(AwsEnvironment::Variables& variables, const char* name) {
  const auto taken = variables.extract(name);
  return taken ? Secret(taken.mapped()) : Secret{};
}

}  // namespace

AwsEnvironment::AwsEnvironment(Variables variables) : variables_(std::move(variables)) {
  secret_key_ = move_secret(variables_, kSecretKey);
  session_token_ = move_secret(variables_, kSessionToken);
  container_token_ = move_secret(variables_, kContainerToken);
}

AwsEnvironment AwsEnvironment::take() {
  AwsEnvironment environment;
  for (const char* const name : kNames) {
    if (const char* const value = ::getenv(name)) environment.variables_.emplace(name, value);
  }
  environment.secret_key_ = take_secret(kSecretKey);
  environment.session_token_ = take_secret(kSessionToken);
  environment.container_token_ = take_secret(kContainerToken);
  return environment;
}

std::optional<std::string> AwsEnvironment::find(std::string_view name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::string AwsEnvironment::in_home(std::string_view rest) const {
  return find("HOME").value_or("/root") + "/" + std::string(rest);
}

}  // namespace framefs::net
