#include "fs/net/credentials/instance_credentials.h"

#include <cerrno>
#include <chrono>
#include <utility>

#include "fs/core/files/file.h"
#include "fs/net/credentials/credential_json.h"

namespace framefs::net {
namespace {

constexpr const char* kEndpoint = "http://169.254.169.254";
constexpr const char* kRolePath = "/latest/meta-data/iam/security-credentials/";
// Most machines have no such service, and nothing answers there.
constexpr std::chrono::milliseconds kInstanceTimeout{1'000};

}  // namespace

Result<std::string> InstanceCredentials::ask(const char* method, const std::string& path,
                                             const std::string& token) {
  HttpRequest request;
  request.method = method;
  FRAMEFS_TRY(
      request.url,
      parse_url(environment_.find("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or(kEndpoint) + path));
  if (token.empty()) {
    request.headers.add("x-aws-ec2-metadata-token-ttl-seconds", "21600");
  } else {
    request.headers.add("x-aws-ec2-metadata-token", token);
  }
  request.timeout = kInstanceTimeout;
  request.is_local = true;
  FRAMEFS_TRY(const auto answer, perform(transport_, std::move(request)));
  if (answer.status != 200) return fs::system_error_of(EACCES, "instance credentials");
  return std::string(answer.text());
}

Result<std::optional<Credentials>> InstanceCredentials::fetch() {
  if (environment_.find("AWS_EC2_METADATA_DISABLED") == "true") return std::nullopt;
  const auto token = ask("PUT", "/latest/api/token", "");
  if (!token || token->empty()) return std::nullopt;
  const auto roles = ask("GET", kRolePath, *token);
  if (!roles || roles->empty()) return std::nullopt;
  FRAMEFS_TRY(const auto json, ask("GET", kRolePath + roles->substr(0, roles->find('\n')), *token));
  return parse_credential_json(json);
}

}  // namespace framefs::net
