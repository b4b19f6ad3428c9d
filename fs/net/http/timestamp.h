#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace framefs::net {

// Seconds since 1970, UTC.
using UnixSeconds = std::int64_t;
inline constexpr std::int64_t kNsPerSecond = 1'000'000'000;

// Parses "Wed, 21 Oct 2015 07:28:00 GMT", the form of HTTP headers, PROPFIND and nginx's listings.
std::optional<UnixSeconds> parse_http_date(std::string_view text);

// Parses "2013-05-24T00:00:00Z", with or without a fraction or an offset from UTC.
// Units: nanoseconds.
std::optional<std::int64_t> parse_iso_time_ns(std::string_view text);
std::optional<UnixSeconds> parse_iso_time(std::string_view text);

// The time of a listing.  It has one of the forms above; 0 if it has none.
std::int64_t time_of(std::string_view text);

// The form "2013-05-24T00:00:00Z", with a fraction if there is one.  parse_iso_time_ns() reads it
// back exactly.  Units: nanoseconds.
std::string iso_time_ns(std::int64_t ns);

// The form "20130524T000000Z".  Signatures use its first eight characters as the day.
std::string amz_time(UnixSeconds time);

}  // namespace framefs::net
