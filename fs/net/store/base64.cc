#include "fs/net/store/base64.h"

#include <openssl/evp.h>

namespace framefs::net {
namespace {

constexpr std::size_t kGroupBytes = 3;
constexpr std::size_t kGroupDigits = 4;

// OpenSSL's bytes are unsigned.
const unsigned char* unsigned_bytes(const void* bytes) {
  return static_cast<const unsigned char*>(bytes);
}

}  // namespace

std::string base64_encode(std::span<const std::byte> bytes) {
  // OpenSSL also writes a zero byte, for which a string has room.
  std::string text((bytes.size() + 2) / kGroupBytes * kGroupDigits, '\0');
  EVP_EncodeBlock(static_cast<unsigned char*>(static_cast<void*>(text.data())),
                  unsigned_bytes(bytes.data()), static_cast<int>(bytes.size()));
  return text;
}

std::optional<std::vector<std::byte>> base64_decode(std::string_view text) {
  if (text.empty()) return std::vector<std::byte>();
  std::vector<std::byte> bytes(text.size() / kGroupDigits * kGroupBytes + kGroupBytes);
  const int size = EVP_DecodeBlock(static_cast<unsigned char*>(static_cast<void*>(bytes.data())),
                                   unsigned_bytes(text.data()), static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  // OpenSSL counts the bytes of the padding.
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  bytes.resize(static_cast<std::size_t>(size) - padding);
  // OpenSSL ignores spaces at the ends and bits behind the last byte.
  if (base64_encode(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace framefs::net
