#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

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

// Takes numbers of `width` bytes, one after another, from the order of the machine to little-endian
// order, or back.  `width` divides the size.
inline void swap_on_big_endian(std::span<std::byte> numbers, std::size_t width) {
  if constexpr (std::endian::native == std::endian::little) return;
  for (; !numbers.empty(); numbers = numbers.subspan(width)) {
    std::ranges::reverse(numbers.first(width));
  }
}

}  // namespace framefs::codec
