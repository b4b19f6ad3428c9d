#include "fs/net/credentials/web_identity_credentials.h"

#include <array>
#include <cerrno>

#include <pugixml.hpp>

#include "fs/core/file.h"
#include "fs/net/store/sigv4.h"
#include "fs/net/store/xml_text.h"

namespace framefs::net {

Result<Credentials> parse_sts_answer(std::string_view xml) {
  pugi::xml_document document;
  if (!parse_xml(document, xml)) return codec::fail(Errc::bad_field, "STS answer: XML");
  const auto found = document.child("AssumeRoleWithWebIdentityResponse")
                         .child("AssumeRoleWithWebIdentityResult")
                         .child("Credentials");
  Credentials credentials;
  credentials.access_key = found.child_value("AccessKeyId");
  credentials.secret_key = Secret(found.child_value("SecretAccessKey"));
  credentials.session_token = Secret(found.child_value("SessionToken"));
  credentials.expires = parse_iso_time(found.child_value("Expiration"));
  if (credentials.access_key.empty() || credentials.secret_key.empty() || !credentials.expires) {
    return codec::fail(Errc::bad_field, "STS answer: Credentials");
  }
  return credentials;
}

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
  HttpRequest request;
  request.method = "POST";
  FRAMEFS_TRY(request.url, parse_url(settings_.endpoint));
  request.headers.add("content-type", "application/x-www-form-urlencoded");
  request.body = canonical_query(form);
  wipe(token.data(), token.size());
  request.timeout = std::chrono::milliseconds(10'000);
  FRAMEFS_TRY(const auto answer, perform(transport_, std::move(request)));
  if (answer.status != 200) return fs::system_error_of(EACCES, "web identity");
  return parse_sts_answer(answer.text());
}

}  // namespace framefs::net
