#include "fs/net/http/public_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace framefs::net {
namespace {

struct Block {
  std::uint32_t begin;
  unsigned bits;
};
constexpr std::array kNotPublic = {
    Block{0x00000000, 8},   // this network
    Block{0x0A000000, 8},   // private
    Block{0x64400000, 10},  // shared by customers of a provider
    Block{0x7F000000, 8},   // loopback
    Block{0xA9FE0000, 16},  // link-local
    Block{0xAC100000, 12},  // private
    Block{0xC0A80000, 16},  // private
};

bool is_public_v4(std::uint32_t address) {
  return std::ranges::none_of(kNotPublic, [address](const Block& block) {
    return (address ^ block.begin) >> (32 - block.bits) == 0;
  });
}

bool is_public_v6(const in6_addr& address) {
  const auto& bytes = address.s6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    std::uint32_t v4 = 0;
    std::memcpy(&v4, &bytes[12], sizeof(v4));
    return is_public_v4(ntohl(v4));
  }
  const bool is_unique_local = (bytes[0] & 0xFE) == 0xFC;
  return !IN6_IS_ADDR_UNSPECIFIED(&address) && !IN6_IS_ADDR_LOOPBACK(&address) &&
         !IN6_IS_ADDR_LINKLOCAL(&address) && !is_unique_local;
}

}  // namespace

bool is_public(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof(v4));
    return is_public_v4(ntohl(v4.sin_addr.s_addr));
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof(v6));
    return is_public_v6(v6.sin6_addr);
  }
  return false;
}

bool is_public(const char* address) {
  if (address == nullptr) return false;
  in_addr v4{};
  if (::inet_pton(AF_INET, address, &v4) == 1) return is_public_v4(ntohl(v4.s_addr));
  in6_addr v6{};
  return ::inet_pton(AF_INET6, address, &v6) == 1 && is_public_v6(v6);
}

}  // namespace framefs::net
