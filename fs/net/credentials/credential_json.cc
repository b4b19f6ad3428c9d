#include "fs/net/credentials/credential_json.h"

#include <string>

#include <nlohmann/json.hpp>

#include "fs/net/credentials/json_text.h"

namespace framefs::net {

Result<Credentials> parse_credential_json(std::string_view json) {
  const auto object = nlohmann::json::parse(json, nullptr, false);
  if (!object.is_object()) return codec::fail(Errc::bad_field, "credentials: JSON");
  Credentials credentials;
  credentials.access_key = text_of(object, "AccessKeyId");
  credentials.secret_key = Secret(text_of(object, "SecretAccessKey"));
  // Processes name the field SessionToken; endpoints name it Token.
  const auto token = text_of(object, "SessionToken");
  credentials.session_token = Secret(token.empty() ? text_of(object, "Token") : token);
  if (credentials.access_key.empty() || credentials.secret_key.empty()) {
    return codec::fail(Errc::bad_field, "credentials: AccessKeyId and SecretAccessKey");
  }
  const auto expiration = text_of(object, "Expiration");
  if (!expiration.empty()) {
    credentials.expires = parse_iso_time(expiration);
    if (!credentials.expires) return codec::fail(Errc::bad_field, "credentials: Expiration");
  }
  return credentials;
}

}  // namespace framefs::net
