#include "fs/net/credentials/role_credentials.h"

#include <cerrno>
#include <vector>

#include "fs/core/files/file.h"
#include "fs/net/credentials/sts.h"
#include "fs/net/http/server_clock.h"

namespace framefs::net {

Result<std::optional<Credentials>> RoleCredentials::fetch() {
  FRAMEFS_TRY(const auto own, source_->fetch());
  if (!own) return fs::system_error_of(EACCES, "no credentials to ask for the role");
  std::vector<QueryParameter> form{{"Action", "AssumeRole"},
                                   {"Version", "2011-06-15"},
                                   {"RoleArn", settings_.role_arn},
                                   {"RoleSessionName", settings_.session_name}};
  if (!settings_.external_id.empty()) form.emplace_back("ExternalId", settings_.external_id);
  if (!settings_.duration_s.empty()) form.emplace_back("DurationSeconds", settings_.duration_s);
  FRAMEFS_TRY(auto request, sts_request(settings_.endpoint, form));
  sign_request(request, *own, {settings_.region, "sts", ServerClock().now()});
  FRAMEFS_TRY(const auto answer, perform(transport_, std::move(request)));
  if (answer.status != 200) return fs::system_error_of(EACCES, "the role of the profile");
  return parse_sts_answer(answer.text(), "AssumeRole");
}

}  // namespace framefs::net
