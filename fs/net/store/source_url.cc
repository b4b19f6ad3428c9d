#include "fs/net/store/source_url.h"

#include <algorithm>
#include <array>
#include <utility>

namespace framefs::net {
namespace {

using codec::fail;

constexpr std::string_view kS3 = "s3://";
// Pairs of the scheme of SOURCE and the scheme on the wire.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kWebSchemes{{
    {"http", "http"},
    {"https", "https"},
    {"dav", "http"},
    {"davs", "https"},
    {"webdav", "http"},
    {"webdavs", "https"},
}};

// Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html; older
// buckets and other stores also know upper case and underscores.
bool is_bucket(std::string_view name) {
  return name.size() >= 3 && name.size() <= 255 && name != "..." &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '.' || c == '_' || c == ':';
         });
}

Result<SourceUrl> parse_s3(std::string_view rest) {
  const auto slash = std::min(rest.find('/'), rest.size());
  SourceUrl source;
  source.kind = StoreKind::s3;
  source.bucket = rest.substr(0, slash);
  if (!is_bucket(source.bucket))
    return fail(Errc::bad_field, "the name of the bucket is missing or invalid");
  if (slash < rest.size()) source.prefix = rest.substr(slash + 1);
  return source;
}

}  // namespace

bool is_source_url(std::string_view source) {
  if (source.starts_with(kS3)) return true;
  const auto scheme = source.substr(0, source.find("://"));
  return scheme.size() < source.size() &&
         std::ranges::any_of(kWebSchemes, [&](const auto& known) { return known.first == scheme; });
}

std::string shown_source(std::string_view source) {
  const auto query = source.find('?');
  const bool has_query = is_source_url(source) && !source.starts_with(kS3) && query != source.npos;
  return has_query ? std::string(source.substr(0, query)) + "?..." : std::string(source);
}

Result<SourceUrl> parse_source_url(std::string_view text) {
  if (text.starts_with(kS3)) return parse_s3(text.substr(kS3.size()));
  for (const auto& [scheme, wire] : kWebSchemes) {
    if (!text.starts_with(scheme) || !text.substr(scheme.size()).starts_with("://")) continue;
    SourceUrl source;
    source.kind = scheme.contains("dav") ? StoreKind::dav : StoreKind::http;
    FRAMEFS_TRY(source.url, parse_url(std::string(wire) + std::string(text.substr(scheme.size()))));
    return source;
  }
  return fail(Errc::bad_field, "the scheme is not s3, http(s) or dav(s)");
}

}  // namespace framefs::net
