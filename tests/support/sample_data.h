#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>

#include "tests/support/bytes.h"

namespace framefs::test {

// The bytes 0, 1, 2, ...
inline Bytes counting(std::size_t n) {
  Bytes out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::byte>(i);
  return out;
}

// Bytes that no codec can compress.  Deterministic for a seed.
inline Bytes noise(std::size_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes out(n);
  for (auto& b : out) b = static_cast<std::byte>(random());
  return out;
}

// Bytes that codecs compress and filters change: a ramp of `typesize`-byte items with some noise in
// the lowest byte.  After a shuffle it has runs, zeros and bytes of high entropy.
inline Bytes ramp(std::size_t n, std::size_t typesize, std::uint32_t seed = 1) {
  std::mt19937 random(seed);
  Bytes out(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t item = i / typesize;
    const std::size_t byte = i % typesize;
    if (byte == 0) out[i] = static_cast<std::byte>(random() % 16 == 0 ? random() : item / 8);
    if (byte == 1) out[i] = static_cast<std::byte>(item >> 6);
    if (byte == 2) out[i] = std::byte{0x42};
  }
  return out;
}

inline Bytes text_bytes(std::string_view text) {
  Bytes out;
  append(out, text);
  return out;
}

// A dictionary that helps with ramp(): its content occurs in every block.
inline Bytes ramp_dictionary(std::size_t n, std::size_t typesize) { return ramp(n, typesize, 7); }

}  // namespace framefs::test
