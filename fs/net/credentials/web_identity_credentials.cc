#include "fs/net/credentials/web_identity_credentials.h"

#include <array>
#include <cerrno>

#include "fs/core/files/file.h"
#include "fs/net/credentials/sts.h"

namespace framefs::net {

Result<std::optional<Credentials>> WebIdentityCredentials::fetch() {
  FRAMEFS_TRY(auto token,
              read_token_file(access_, settings_.token_file, "web identity token file"));
  const std::array<QueryParameter, 5> form{{
      {"Action", "AssumeRoleWithWebIdentity"},
      {"Version", "2011-06-15"},
      {"RoleArn", settings_.role_arn},
      {"RoleSessionName", settings_.session_name},
      {"WebIdentityToken", token},
  }};
  auto request = sts_request(settings_.endpoint, form);
  wipe(token.data(), token.size());
  if (!request) return std::unexpected(request.error());
  FRAMEFS_TRY(const auto answer, perform(transport_, std::move(*request)));
  if (answer.status != 200) return fs::system_error_of(EACCES, "web identity");
  return parse_sts_answer(answer.text(), "AssumeRoleWithWebIdentity");
}

}  // namespace framefs::net
