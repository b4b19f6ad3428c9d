#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace framefs::codec {

// Eight bytes as one number, the first byte lowest, for arithmetic on all of them at once.
inline std::uint64_t load_word(const std::byte* from) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof(word));
  return std::endian::native == std::endian::big ? std::byteswap(word) : word;
}

inline void store_word(std::byte* to, std::uint64_t word) noexcept {
  if (std::endian::native == std::endian::big) word = std::byteswap(word);
  std::memcpy(to, &word, sizeof(word));
}

}  // namespace framefs::codec
