#pragma once

#include <string>
#include <string_view>

namespace framefs::net {

enum class Slashes { kept, encoded };

// `text` with every byte but RFC 3986's unreserved ones as %XX, in upper case: what S3 signs.
std::string percent_encode(std::string_view text, Slashes slashes);

// A URL's path or query as a user typed it: bytes that no URL may hold are encoded, what is encoded
// already stays.
std::string percent_complete(std::string_view text);

// The bytes that `text` stands for.  A percent sign that begins no escape stands for itself.
std::string percent_decode(std::string_view text);

// The same for forms, as S3's listings with encoding-type=url have it: a plus sign is a space.
std::string form_decode(std::string_view text);

}  // namespace framefs::net
