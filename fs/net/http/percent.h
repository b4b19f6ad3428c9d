#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace framefs::net {

enum class Slashes : std::uint8_t { kept, encoded };

// `text` in the form that S3 signs: every byte is %XX in upper case, except the unreserved ones of
// RFC 3986.
std::string percent_encode(std::string_view text, Slashes slashes);

// Completes the encoding of a path or query as a user typed it.  Bytes that no URL may hold are
// encoded; existing escapes stay.
std::string percent_complete(std::string_view text);

// The bytes that `text` stands for.  A percent sign that begins no escape stands for itself.
std::string percent_decode(std::string_view text);

// The same for forms, which S3's listings with encoding-type=url use: a plus sign is a space.
std::string form_decode(std::string_view text);

}  // namespace framefs::net
