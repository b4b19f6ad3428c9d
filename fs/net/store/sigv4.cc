#include "fs/net/store/sigv4.h"

#include <algorithm>
#include <string>
#include <vector>

#include "fs/net/http/percent.h"
#include "fs/net/store/digest.h"

namespace framefs::net {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

// The value without the blanks around it.  Several blanks inside it become one.
std::string canonical_value(std::string_view value) {
  std::string text;
  for (const char c : value) {
    const bool blank = c == ' ' || c == '\t';
    if (!blank) {
      text += c;
    } else if (!text.empty() && text.back() != ' ') {
      text += ' ';
    }
  }
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

struct CanonicalHeaders {
  std::string text;   // a line each
  std::string names;  // with semicolons between
};

CanonicalHeaders canonical_headers(const HttpRequest& request) {
  auto fields = request.headers.fields();
  fields.emplace_back("host", request.url.authority());
  std::ranges::stable_sort(fields, {}, &HttpHeaders::Field::first);
  CanonicalHeaders canonical;
  for (const auto& [name, value] : fields) {
    canonical.text.append(name).append(":").append(canonical_value(value)).append("\n");
    if (!canonical.names.empty()) canonical.names += ';';
    canonical.names += name;
  }
  return canonical;
}

Sha256 signing_key(std::string_view secret, std::string_view day, const SigningScope& scope) {
  std::string first = "AWS4";
  first += secret;
  const auto of_day = hmac_sha256(first, day);
  wipe(first.data(), first.size());
  const auto of_region = hmac_sha256(key_of(of_day), scope.region);
  const auto of_service = hmac_sha256(key_of(of_region), scope.service);
  return hmac_sha256(key_of(of_service), "aws4_request");
}

}  // namespace

std::string canonical_query(std::span<const QueryParameter> parameters) {
  std::vector<QueryParameter> encoded;
  for (const auto& [name, value] : parameters) {
    encoded.emplace_back(percent_encode(name, Slashes::encoded),
                         percent_encode(value, Slashes::encoded));
  }
  std::ranges::sort(encoded);
  std::string text;
  for (const auto& [name, value] : encoded) {
    if (!text.empty()) text += '&';
    text.append(name).append("=").append(value);
  }
  return text;
}

std::string sigv4_authorization(const HttpRequest& request, std::string_view payload_sha256,
                                const Credentials& credentials, const SigningScope& scope) {
  const auto headers = canonical_headers(request);
  std::string canonical = request.method;
  canonical.append("\n").append(request.url.path);
  canonical.append("\n").append(request.url.query);
  canonical.append("\n").append(headers.text);
  canonical.append("\n").append(headers.names);
  canonical.append("\n").append(payload_sha256);

  const auto time = amz_time(scope.time);
  const auto day = std::string_view(time).substr(0, 8);
  std::string place(day);
  place.append("/").append(scope.region).append("/").append(scope.service).append("/aws4_request");
  std::string to_sign(kAlgorithm);
  to_sign.append("\n").append(time).append("\n").append(place);
  to_sign.append("\n").append(hex(sha256(canonical)));

  const auto key = signing_key(credentials.secret_key.reveal(), day, scope);
  std::string authorization(kAlgorithm);
  authorization.append(" Credential=").append(credentials.access_key).append("/").append(place);
  authorization.append(", SignedHeaders=").append(headers.names);
  authorization.append(", Signature=").append(hex(hmac_sha256(key_of(key), to_sign)));
  return authorization;
}

void sign_request(HttpRequest& request, const Credentials& credentials, const SigningScope& scope) {
  if (credentials.is_anonymous()) return;
  const auto payload = hex(sha256(request.body));
  request.headers.set("x-amz-date", amz_time(scope.time));
  request.headers.set("x-amz-content-sha256", payload);
  if (!credentials.session_token.empty()) {
    request.headers.set("x-amz-security-token", credentials.session_token.reveal());
  }
  request.headers.remove("authorization");
  request.headers.set("authorization", sigv4_authorization(request, payload, credentials, scope));
}

}  // namespace framefs::net
