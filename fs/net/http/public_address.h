#pragma once

#include <sys/socket.h>

namespace framefs::net {

// Whether an address belongs to the public Internet: it is neither loopback, link-local, private
// nor unspecified.  Addresses of IPv4 inside IPv6 count as those of IPv4.
// Source: RFC 1122, 3.2.1.3; RFC 1918; RFC 3927; RFC 4193; RFC 4291; RFC 6598.
bool is_public(const sockaddr& address);

// The same for an address as text, as libcurl has it; false if it is none.
bool is_public(const char* address);

}  // namespace framefs::net
