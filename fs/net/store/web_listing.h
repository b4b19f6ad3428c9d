#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fs/net/store/object_store.h"

namespace framefs::net {

// Names that no file can have are left out of both.
// Errors, of both: over_limit; system, EINTR if the operation of this thread is interrupted.

// Parses a folder's listing in the JSON of nginx (autoindex_format json) or Caddy.
// Errors: also bad_field.
Result<std::vector<RemoteEntry>> parse_json_listing(std::string_view json);

// Parses a folder's page of links, as Apache, Caddy, nginx and Python's http.server make it.  The
// entries are the links that lead directly below `folder`.  Sizes and times on such pages are for
// people, so stat() asks the server for them.
Result<std::vector<RemoteEntry>> parse_html_listing(std::string_view html, const Url& folder);

}  // namespace framefs::net
