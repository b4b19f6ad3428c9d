#include "fs/net/credentials/container_credentials.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include "fs/core/files/file.h"
#include "fs/net/credentials/credential_json.h"

namespace framefs::net {
namespace {

constexpr const char* kTokenFile = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";
constexpr std::string_view kRelativeBase = "http://169.254.170.2";
constexpr std::chrono::milliseconds kContainerTimeout{5'000};

// A token may go without TLS only to this machine and its platform.
bool may_be_plain(std::string_view host) {
  constexpr std::array<std::string_view, 6> kHosts{
      "127.0.0.1", "localhost", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};
  return std::ranges::find(kHosts, host) != kHosts.end();
}

}  // namespace

ContainerCredentials::ContainerCredentials(Transport& transport, CredentialAccess& access,
                                           const AwsEnvironment& environment)
    : transport_(transport), access_(access), environment_(environment) {
  if (const auto path = environment.find(kTokenFile)) access.keep_file(*path);
}

Result<std::string> ContainerCredentials::read_token() const {
  const auto path = environment_.find(kTokenFile);
  if (!path) return std::string(environment_.container_token().reveal());
  return read_token_file(access_, *path, "container token file");
}

Result<std::optional<Credentials>> ContainerCredentials::fetch() {
  const auto relative = environment_.find("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const auto full = environment_.find("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!relative && !full) return std::nullopt;
  HttpRequest request;
  FRAMEFS_TRY(request.url, parse_url(relative ? std::string(kRelativeBase) + *relative : *full));
  if (request.url.scheme != "https" && !may_be_plain(request.url.host)) {
    return codec::fail(Errc::bad_field, "AWS_CONTAINER_CREDENTIALS_FULL_URI: not https");
  }
  FRAMEFS_TRY(auto token, read_token());
  if (!token.empty()) request.headers.add("authorization", token);
  wipe(token.data(), token.size());
  request.timeout = kContainerTimeout;
  request.is_local = true;
  FRAMEFS_TRY(const auto answer, perform(transport_, std::move(request)));
  if (answer.status != 200) return fs::system_error_of(EACCES, "container credentials");
  return parse_credential_json(answer.text());
}

}  // namespace framefs::net
