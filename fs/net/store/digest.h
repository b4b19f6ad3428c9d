#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace framefs::net {

using Sha256 = std::array<unsigned char, 32>;

Sha256 sha256(std::string_view bytes);
Sha256 hmac_sha256(std::string_view key, std::string_view bytes);

// Lower-case hexadecimal digits.
std::string hex(const Sha256& digest);

// The bytes of a digest as the key of the next one.
std::string_view key_of(const Sha256& digest);

}  // namespace framefs::net
