#include "fs/net/http/url.h"

#include <algorithm>
#include <vector>

#include "codec/core/parse_number.h"
#include "fs/net/http/lower_case.h"
#include "fs/net/http/percent.h"

namespace framefs::net {
namespace {

using codec::fail;

bool is_host(std::string_view host) {
  constexpr std::string_view kOthers = "-._~%[]:";
  return !host.empty() && std::ranges::all_of(host, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || kOthers.contains(c);
  });
}

Status parse_authority(std::string_view text, Url& url) {
  if (text.contains('@')) {
    return fail(Errc::bad_field, "a user name or password is not allowed in a URL; use ~/.netrc");
  }
  auto host = text;
  const auto bracket = text.find(']');
  const auto colon = text.find(':', bracket == text.npos ? 0 : bracket);
  if (colon != text.npos) {
    host = text.substr(0, colon);
    url.port = codec::parse_number<std::uint16_t>(text.substr(colon + 1)).value_or(0);
    if (url.port == 0) {
      return fail(Errc::bad_field, "the port is not a number from 1 to 65535");
    }
  }
  url.host = lower_case(host);
  if (!is_host(url.host)) return fail(Errc::bad_field, "the host is missing or invalid");
  return {};
}

void parse_path(std::string_view text, Url& url) {
  text = text.substr(0, text.find('#'));
  const auto question = text.find('?');
  url.path = percent_complete(text.substr(0, question));
  if (!url.path.starts_with('/')) url.path.insert(0, 1, '/');
  url.query = question == text.npos ? "" : percent_complete(text.substr(question + 1));
}

// Removes "." and ".." segments (RFC 3986, 5.2.4).
std::string without_dot_segments(std::string_view path) {
  std::vector<std::string_view> segments;
  bool is_directory = false;
  for (std::size_t at = 1; at <= path.size();) {
    const auto end = std::min(path.find('/', at), path.size());
    const auto segment = path.substr(at, end - at);
    is_directory = segment == "." || segment == "..";
    if (segment == ".." && !segments.empty()) segments.pop_back();
    if (!is_directory) segments.push_back(segment);
    at = end + 1;
  }
  std::string result;
  for (const auto segment : segments) result.append("/").append(segment);
  if (is_directory || result.empty()) result += '/';
  return result;
}

}  // namespace

std::string Url::authority() const {
  const std::uint16_t usual = scheme == "https" ? 443 : 80;
  return port == 0 || port == usual ? host : host + ":" + std::to_string(port);
}

std::string Url::text() const {
  return scheme + "://" + authority() + path + (query.empty() ? "" : "?" + query);
}

bool Url::same_origin(const Url& other) const {
  return scheme == other.scheme && authority() == other.authority();
}

Result<Url> parse_url(std::string_view text) {
  const auto colon = text.find("://");
  if (colon == text.npos) return fail(Errc::bad_field, "the scheme is not http or https");
  Url url;
  url.scheme = lower_case(text.substr(0, colon));
  if (url.scheme != "http" && url.scheme != "https")
    return fail(Errc::bad_field, "the scheme is not http or https");
  const auto rest = text.substr(colon + 3);
  const auto authority_end = std::min(rest.find_first_of("/?#"), rest.size());
  FRAMEFS_CHECK(parse_authority(rest.substr(0, authority_end), url));
  parse_path(rest.substr(authority_end), url);
  return url;
}

Result<Url> resolve_url(const Url& base, std::string_view reference) {
  const auto scheme_end = reference.find_first_of(":/?#");
  if (scheme_end != reference.npos && reference[scheme_end] == ':') return parse_url(reference);
  if (reference.starts_with("//")) return parse_url(base.scheme + ":" + std::string(reference));
  Url url = base;
  reference = reference.substr(0, reference.find('#'));
  if (reference.empty()) return url;
  if (reference.starts_with('/')) {
    parse_path(reference, url);
  } else if (reference.starts_with('?')) {
    url.query = percent_complete(reference.substr(1));
  } else {
    parse_path(base.path.substr(0, base.path.rfind('/') + 1) + std::string(reference), url);
  }
  url.path = without_dot_segments(url.path);
  return url;
}

}  // namespace framefs::net
