#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fs/net/object_store.h"

namespace framefs::net {

// A folder as nginx (autoindex_format json) or Caddy lists it.  Errors: bad_field.
Result<std::vector<RemoteEntry>> parse_json_listing(std::string_view json);

// A folder as a page of links, which Apache, Caddy, nginx and Python's http.server make: those that
// lead to something directly below `folder`.  Sizes and times on such pages are for people, so they
// are left to stat().
std::vector<RemoteEntry> parse_html_listing(std::string_view html, const Url& folder);

// A list of all files below a root, for servers that list nothing:
//   {"framefs-manifest": 1, "files": [{"path": "a/b", "size": 1, "mtime": "2024-...", "etag": "..."}]}
// Where a file has no size, stat() asks the server.
struct ManifestFile {
  std::string path;
  RemoteEntry entry;
};
// Errors: bad_field.
Result<std::vector<ManifestFile>> parse_manifest(std::string_view json);

// What of a manifest lies directly in `folder`.
std::vector<RemoteEntry> manifest_folder(const std::vector<ManifestFile>& files,
                                         const std::string& folder);

}  // namespace framefs::net
