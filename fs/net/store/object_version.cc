#include "fs/net/store/object_version.h"

#include <utility>

namespace framefs::net {
namespace {

constexpr std::string_view kWeak = "W/";

std::string_view opaque(std::string_view etag) {
  return etag.starts_with(kWeak) ? etag.substr(kWeak.size()) : etag;
}

}  // namespace

std::string etag_of(const HttpHeaders& headers) {
  const auto etag = headers.find("etag").value_or("");
  constexpr std::string_view kEmpty = "\"\"";
  return std::string(opaque(etag).size() > kEmpty.size() ? etag : "");
}

std::string strong_etag(const HttpHeaders& headers) {
  auto etag = etag_of(headers);
  return etag.starts_with(kWeak) ? "" : std::move(etag);
}

bool etags_agree(std::string_view a, std::string_view b) { return opaque(a) == opaque(b); }

ObjectVersion make_version(std::string_view store, std::string path, std::uint64_t size,
                           const HttpHeaders& headers, std::uint64_t open_number) {
  ObjectVersion version;
  version.path = std::move(path);
  version.size = size;
  version.etag = etag_of(headers);
  version.last_modified = headers.find("last-modified").value_or("");
  // No part of the text holds a zero byte.
  std::string text(store);
  text.append(1, '\0').append(version.path).append(1, '\0');
  text.append(version.etag).append(1, '\0').append(version.last_modified).append(1, '\0');
  text.append(std::to_string(size));
  if (!version.has_validator()) text.append(1, '\0').append(std::to_string(open_number));
  version.key = content_key(text);
  return version;
}

}  // namespace framefs::net
