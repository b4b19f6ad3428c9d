#include "fs/net/http/percent.h"

#include <optional>

namespace framefs::net {
namespace {

bool is_alphanumeric(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_unreserved(char c) {
  return is_alphanumeric(c) || c == '-' || c == '_' || c == '.' || c == '~';
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  return std::nullopt;
}

// The byte that the escape at `at` stands for.  Nothing if there is no escape.
std::optional<char> escape_at(std::string_view text, std::size_t at) {
  if (text[at] != '%' || text.size() - at < 3) return std::nullopt;
  const auto high = hex_digit(text[at + 1]);
  const auto low = hex_digit(text[at + 2]);
  if (!high || !low) return std::nullopt;
  return static_cast<char>(static_cast<unsigned char>(*high * 16 + *low));
}

void append_escape(std::string& to, char c) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  to += '%';
  to += kDigits[byte / 16];
  to += kDigits[byte % 16];
}

std::string decode(std::string_view text, bool plus_is_space) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (const auto byte = escape_at(text, i)) {
      bytes += *byte;
      i += 2;
    } else {
      bytes += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return bytes;
}

}  // namespace

std::string percent_encode(std::string_view text, Slashes slashes) {
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c) || (c == '/' && slashes == Slashes::kept)) {
      encoded += c;
    } else {
      append_escape(encoded, c);
    }
  }
  return encoded;
}

std::string percent_complete(std::string_view text) {
  constexpr std::string_view kReserved = "!$&'()*+,;=:@/?";
  std::string encoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_unreserved(c) || kReserved.contains(c) || escape_at(text, i)) {
      encoded += c;
    } else {
      append_escape(encoded, c);
    }
  }
  return encoded;
}

std::string percent_decode(std::string_view text) { return decode(text, false); }

std::string form_decode(std::string_view text) { return decode(text, true); }

}  // namespace framefs::net
