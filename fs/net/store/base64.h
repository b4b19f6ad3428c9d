#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace framefs::net {

// Both take less than 2 GiB.

// The bytes as Base64 with padding.  Source: RFC 4648, section 4.
std::string base64_encode(std::span<const std::byte> bytes);

// The bytes of such a text.  Nothing if the text has another form.
std::optional<std::vector<std::byte>> base64_decode(std::string_view text);

}  // namespace framefs::net
