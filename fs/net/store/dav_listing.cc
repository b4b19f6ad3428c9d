#include "fs/net/store/dav_listing.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include <pugixml.hpp>

#include "fs/core/files/file.h"
#include "fs/core/threads/interrupt.h"
#include "fs/net/http/percent.h"
#include "fs/net/http/timestamp.h"
#include "fs/net/store/xml_text.h"

namespace framefs::net {
namespace {

// The name without its prefix.  Each server chooses its own prefix for the namespace "DAV:".
std::string_view local_name(const pugi::xml_node& node) {
  const std::string_view name = node.name();
  const auto colon = name.find(':');
  return colon == name.npos ? name : name.substr(colon + 1);
}

pugi::xml_node child_of(const pugi::xml_node& node, std::string_view name) {
  for (const auto& child : node.children()) {
    if (local_name(child) == name) return child;
  }
  return {};
}

// The properties that the server has.  Their status is 200.
pugi::xml_node properties_of(const pugi::xml_node& response) {
  for (const auto& child : response.children()) {
    if (local_name(child) != "propstat") continue;
    const std::string_view status = child_of(child, "status").text().get();
    if (status.find(" 200") != status.npos) return child_of(child, "prop");
  }
  return {};
}

std::string without_end_slash(std::string path) {
  if (path.ends_with('/')) path.pop_back();
  return path;
}

// The resource of a response; nothing if it is not below `base`.
std::optional<RemoteEntry> entry_of(const pugi::xml_node& response, const Url& url,
                                    const std::string& base) {
  const auto target = resolve_url(url, child_of(response, "href").text().get());
  const auto properties = properties_of(response);
  if (!target || !properties) return std::nullopt;
  const auto path = without_end_slash(percent_decode(target->path));
  RemoteEntry entry;
  if (path != base) {
    if (!path.starts_with(base + "/")) return std::nullopt;
    entry.name = path.substr(base.size() + 1);
  }
  entry.is_directory = !child_of(child_of(properties, "resourcetype"), "collection").empty();
  const auto length = child_of(properties, "getcontentlength").text();
  entry.is_exact = entry.is_directory || !length.empty();
  entry.size = entry.is_directory ? 0 : length.as_ullong();
  entry.mtime_ns =
      parse_http_date(child_of(properties, "getlastmodified").text().get()).value_or(0) *
      kNsPerSecond;
  const std::string_view etag = child_of(properties, "getetag").text().get();
  if (!etag.starts_with("W/")) entry.etag = etag;
  return entry;
}

// The name in a tag that begins at `at`, without its prefix and the slash of an end tag.
std::string_view name_in_tag(std::string_view xml, std::size_t at) {
  const auto begin = at + (xml.substr(at).starts_with("</") ? 2 : 1);
  const auto name = xml.substr(begin, xml.find_first_of(" \t\r\n/>", begin) - begin);
  const auto colon = name.find(':');
  return colon == name.npos ? name : name.substr(colon + 1);
}

// The next tag of that name that begins with `mark`; npos if there is none.
std::size_t find_tag(std::string_view xml, std::size_t at, std::string_view mark,
                     std::string_view name) {
  while ((at = xml.find(mark, at)) != xml.npos && name_in_tag(xml, at) != name) ++at;
  return at;
}

// Calls `take` with each response of the document.  A document takes many times the memory of its
// text, so that each response is parsed as a document of its own.
Status for_each_response(std::string_view xml,
                         const std::function<Status(const pugi::xml_node&)>& take) {
  constexpr std::string_view kRoot = "multistatus";
  constexpr std::string_view kResponse = "response";
  constexpr std::size_t kMaxResponseBytes = 1 << 20;
  const auto begin = find_tag(xml, 0, "<", kRoot);
  const auto end = xml.rfind("</");
  if (begin == xml.npos || end == xml.npos || name_in_tag(xml, end) != kRoot) {
    return codec::fail(Errc::bad_field, "DAV listing: multistatus");
  }
  xml = xml.substr(0, end);
  for (auto at = begin; at < xml.size();) {
    if (fs::interrupted()) return fs::system_error_of(EINTR, "DAV listing");
    const auto first = find_tag(xml, at, "<", kResponse);
    const auto last = find_tag(xml, std::min(first, xml.size()), "</", kResponse);
    const auto behind = last == xml.npos ? xml.size() : xml.find('>', last);
    if (behind == xml.npos || behind - at > kMaxResponseBytes) {
      return codec::fail(Errc::bad_field, "DAV listing: length of a response");
    }
    if (last == xml.npos) break;
    pugi::xml_document document;
    if (!parse_xml(document, xml.substr(first, behind + 1 - first))) {
      return codec::fail(Errc::bad_field, "DAV listing: XML");
    }
    FRAMEFS_CHECK(take(document.first_child()));
    at = behind + 1;
  }
  return {};
}

}  // namespace

const char* const kPropfindBody =
    R"(<?xml version="1.0" encoding="utf-8"?><D:propfind xmlns:D="DAV:"><D:prop>)"
    "<D:resourcetype/><D:getcontentlength/><D:getlastmodified/><D:getetag/>"
    "</D:prop></D:propfind>";

Status parse_dav_listing(std::string_view xml, const Url& url, const TakeEntry& take) {
  const auto base = without_end_slash(percent_decode(url.path));
  const auto take_response = [&](const pugi::xml_node& response) -> Status {
    const auto entry = entry_of(response, url, base);
    return entry ? take(*entry) : Status();
  };
  return for_each_response(xml, take_response);
}

}  // namespace framefs::net
