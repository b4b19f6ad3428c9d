#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fs/net/http/url.h"

namespace framefs::net {

enum class StoreKind : std::uint8_t { s3, http, dav };

// A remote SOURCE: `s3://bucket/prefix`, `http(s)://host/path` or `dav(s)://host/path`.
struct SourceUrl {
  StoreKind kind = StoreKind::http;
  std::string bucket;  // s3
  std::string prefix;  // s3: the key of one object, or the prefix of many, not encoded; "" for all
  Url url;             // http and dav

  bool operator==(const SourceUrl&) const = default;
};

// Whether `source` names a remote source rather than a path.
bool is_source_url(std::string_view source);

// `source`, a URL or a path, as messages and tables of mounts show it.  The query of a URL becomes
// "?...", because it may hold a signature that gives access.
std::string shown_source(std::string_view source);

// Errors: bad_field, `field` being a sentence for the user.
Result<SourceUrl> parse_source_url(std::string_view source);

}  // namespace framefs::net
