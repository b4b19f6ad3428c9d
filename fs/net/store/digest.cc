#include "fs/net/store/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace framefs::net {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  // OpenSSL's bytes are unsigned.
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

Sha256 sha256(std::string_view bytes) {
  Sha256 digest{};
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  return digest;
}

Sha256 hmac_sha256(std::string_view key, std::string_view bytes) {
  Sha256 digest{};
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(bytes), bytes.size(),
       digest.data(), nullptr);
  return digest;
}

std::string hex(const Sha256& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned byte : digest) {
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

std::string_view key_of(const Sha256& digest) {
  // These are the same bytes, in the type that keys have here.
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace framefs::net
