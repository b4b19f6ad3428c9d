#include "fs/net/credentials/sts.h"

#include <chrono>

#include <pugixml.hpp>

#include "fs/net/store/xml_text.h"

namespace framefs::net {

Result<HttpRequest> sts_request(const std::string& endpoint, std::span<const QueryParameter> form) {
  HttpRequest request;
  request.method = "POST";
  FRAMEFS_TRY(request.url, parse_url(endpoint));
  request.headers.add("content-type", "application/x-www-form-urlencoded");
  request.body = canonical_query(form);
  request.timeout = std::chrono::milliseconds(10'000);
  return request;
}

Result<Credentials> parse_sts_answer(std::string_view xml, const std::string& action) {
  pugi::xml_document document;
  if (!parse_xml(document, xml)) return codec::fail(Errc::bad_field, "STS answer: XML");
  const auto found = document.child((action + "Response").c_str())
                         .child((action + "Result").c_str())
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

}  // namespace framefs::net
