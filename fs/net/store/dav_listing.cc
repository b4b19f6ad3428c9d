#include "fs/net/store/dav_listing.h"

#include <string>

#include <pugixml.hpp>

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

}  // namespace

const char* const kPropfindBody =
    R"(<?xml version="1.0" encoding="utf-8"?><D:propfind xmlns:D="DAV:"><D:prop>)"
    "<D:resourcetype/><D:getcontentlength/><D:getlastmodified/><D:getetag/>"
    "</D:prop></D:propfind>";

Result<std::vector<RemoteEntry>> parse_dav_listing(std::string_view xml, const Url& url) {
  pugi::xml_document document;
  if (!parse_xml(document, xml)) {
    return codec::fail(Errc::bad_field, "DAV listing: XML");
  }
  const auto root = child_of(document, "multistatus");
  if (!root) return codec::fail(Errc::bad_field, "DAV listing: multistatus");
  const auto base = without_end_slash(percent_decode(url.path));
  std::vector<RemoteEntry> entries;
  for (const auto& response : root.children()) {
    if (local_name(response) != "response") continue;
    const auto target = resolve_url(url, child_of(response, "href").text().get());
    const auto properties = properties_of(response);
    if (!target || !properties) continue;
    const auto path = without_end_slash(percent_decode(target->path));
    RemoteEntry entry;
    if (path != base) {
      if (!path.starts_with(base + "/")) continue;
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
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace framefs::net
