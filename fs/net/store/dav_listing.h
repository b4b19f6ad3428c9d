#pragma once

#include <string_view>

#include "fs/net/store/object_store.h"

namespace framefs::net {

// The body of a PROPFIND that asks for the properties that list() and stat() need.
extern const char* const kPropfindBody;

// Parses the answer to a PROPFIND: entries for the resource at `url` and the resources below it.
// The resource at `url` itself has the name "".
// Source: RFC 4918, 9.1.
// Errors: bad_field; those of `take`; system, EINTR if the operation of this thread is interrupted.
Status parse_dav_listing(std::string_view xml, const Url& url, const TakeEntry& take);

}  // namespace framefs::net
