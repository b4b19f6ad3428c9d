#pragma once

#include <string_view>

#include "fs/net/store/object_store.h"

namespace framefs::net {

// Errors, of both: those of `take`; system, EINTR if the operation of this thread is interrupted.

// Parses a folder's listing in the JSON of nginx (autoindex_format json) or Caddy.
// Errors: also bad_field.
Status parse_json_listing(std::string_view json, const TakeEntry& take);

// Parses a folder's page of links, as Apache, Caddy, nginx and Python's http.server make it.  The
// entries are the links that lead directly below `folder`.  Sizes and times on such pages are for
// people, so stat() asks the server for them.
Status parse_html_listing(std::string_view html, const Url& folder, const TakeEntry& take);

}  // namespace framefs::net
