#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fs/net/result.h"

namespace framefs::net {

// The parts of an http or https URL, as they go over the wire.
struct Url {
  std::string scheme;      // "http" or "https"
  std::string host;        // in lower case; an IPv6 address keeps its brackets
  std::uint16_t port = 0;  // 0: the default of the scheme
  std::string path = "/";  // percent-encoded
  std::string query;       // percent-encoded, without the question mark

  bool operator==(const Url&) const = default;

  // The value of the Host header: the host, and the port if it is not the scheme's own.
  [[nodiscard]] std::string authority() const;
  [[nodiscard]] std::string text() const;
  // Whether the same server serves `other` under the same protection.
  [[nodiscard]] bool same_origin(const Url& other) const;
};

// Errors: bad_field; also for a URL that holds a user name or password, which every user of the
// machine could read on the command line.
Result<Url> parse_url(std::string_view text);

// The URL to which `reference` leads, in a document or header of `base` (RFC 3986, 5.2).
Result<Url> resolve_url(const Url& base, std::string_view reference);

}  // namespace framefs::net
