#pragma once

#include <string_view>
#include <vector>

#include "fs/net/store/object_store.h"

namespace framefs::net {

// The body of a PROPFIND that asks for the properties that list() and stat() need.
extern const char* const kPropfindBody;

// Parses the answer to a PROPFIND: entries for the resource at `url` and the resources below it.
// The resource at `url` itself has the name "".
// Source: RFC 4918, 9.1.
// Errors: bad_field.
Result<std::vector<RemoteEntry>> parse_dav_listing(std::string_view xml, const Url& url);

}  // namespace framefs::net
