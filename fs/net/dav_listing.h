#pragma once

#include <string_view>
#include <vector>

#include "fs/net/object_store.h"

namespace framefs::net {

// The body of a PROPFIND for what list() and stat() want to know.
extern const char* const kPropfindBody;

// What a server says to it about a resource at `url` and those below; the one at `url` itself has the
// name "".
// Source: RFC 4918, 9.1.
// Errors: bad_field.
Result<std::vector<RemoteEntry>> parse_dav_listing(std::string_view xml, const Url& url);

}  // namespace framefs::net
