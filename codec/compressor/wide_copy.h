#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "codec/core/word.h"

namespace framefs::codec {

// Copying for decoders of byte-oriented LZ77 streams.  Copies use moves of a fixed size, even for
// fewer bytes; the next operation overwrites the surplus.
//
// A match repeats bytes that the decoder has already written: `distance` is at least 1 and at most
// the number of bytes before `to`.  The caller has checked this.  Bytes from `to` on may be read,
// but never become part of the match.

// The largest move.  A copy writes up to kStride - 1 bytes too many.
inline constexpr std::size_t kStride = 32;

inline std::uint32_t u32(std::byte byte) { return std::to_integer<std::uint32_t>(byte); }

// Reads all N bytes before it writes the first, so that the ranges may overlap.
template <std::size_t N>
inline void move_bytes(std::byte* to, const std::byte* from) {
  std::array<std::byte, N> held;
  std::memcpy(held.data(), from, N);
  std::memcpy(to, held.data(), N);
}

// Factors that repeat the lowest `distance` bytes of a word throughout the word.
inline constexpr std::array<std::uint64_t, 8> kRepeat = [] {
  std::array<std::uint64_t, 8> factors{};
  for (std::size_t distance = 1; distance < factors.size(); ++distance) {
    for (std::size_t bit = 0; bit < 64; bit += 8 * distance) {
      factors[distance] |= std::uint64_t{1} << bit;
    }
  }
  return factors;
}();

// The first eight bytes of a match with `distance` < 8.  Reads the eight bytes that start at `to` -
// distance, and ignores those from `to` on.
inline std::uint64_t pattern(const std::byte* to, std::size_t distance) {
  const auto mask = (std::uint64_t{1} << (8 * distance)) - 1;
  return (load_word(to - distance) & mask) * kRepeat[distance];
}

// pattern() for a distance of 1, 2 or 4.  Reads no byte from `to` on: such bytes may come from
// recent narrower stores, for which a wider load would have to wait.
inline std::uint64_t narrow_pattern(const std::byte* to, std::size_t distance) {
  if (distance == 1) return u32(to[-1]) * kRepeat[1];
  std::uint64_t word = u32(to[-2]) | (u32(to[-1]) << 8);
  if (distance == 2) return word * kRepeat[2];
  word = (word << 16) | u32(to[-4]) | (u32(to[-3]) << 8);
  return word * kRepeat[4];
}

// The smallest multiple of a distance that is at least `at_least`.  Copying from there repeats the
// same bytes in wider steps.
constexpr std::array<std::uint8_t, 16> widened(std::size_t at_least) {
  std::array<std::uint8_t, 16> distances{};
  for (std::size_t distance = 1; distance < distances.size(); ++distance) {
    const auto times = (at_least + distance - 1) / distance;
    distances[distance] = static_cast<std::uint8_t>(times * distance);
  }
  return distances;
}
inline constexpr auto kWidened8 = widened(8);
inline constexpr auto kWidened16 = widened(16);

// copy_match() for distances 1..15.
// Always inlined: a call costs as much as most matches, and LZ4 streams of planes decode 4 to 8 %
// slower with it.
[[gnu::always_inline]] inline void copy_near_match(std::byte* to, std::size_t distance,
                                                   std::size_t length) {
  const std::byte* const end = to + length;
  // Not std::has_single_bit: without the popcount instruction, it is a function call.
  if (distance < 8 && (distance & (distance - 1)) == 0) {
    const auto word = narrow_pattern(to, distance);
    do {
      for (std::size_t i = 0; i < kStride; i += sizeof word) store_word(to + i, word);
      to += kStride;
    } while (to < end);
    return;
  }
  if (distance < 8) {
    store_word(to, pattern(to, distance));
  } else {
    move_bytes<8>(to, to - distance);
  }
  move_bytes<8>(to + 8, to + 8 - kWidened8[distance]);
  for (to += 16; to < end; to += 16) move_bytes<16>(to, to - kWidened16[distance]);
}

// Copies `length` > 0 bytes from `distance` bytes before `to`, and repeats them if the ranges
// overlap.  Writes up to kStride - 1 more bytes.
inline void copy_match(std::byte* to, std::size_t distance, std::size_t length) {
  if (distance < 16) return copy_near_match(to, distance, length);
  const std::byte* const end = to + length;
  do {
    move_bytes<16>(to, to - distance);
    move_bytes<16>(to + 16, to + 16 - distance);
    to += kStride;
  } while (to < end);
}

// The same from another buffer, which also has kStride - 1 more bytes.
inline void copy_apart(std::byte* to, const std::byte* from, std::size_t length) {
  const std::byte* const end = to + length;
  do {
    move_bytes<16>(to, from);
    move_bytes<16>(to + 16, from + 16);
    to += kStride;
    from += kStride;
  } while (to < end);
}

// copy_match() without writing more bytes.
inline void copy_match_exactly(std::byte* to, std::size_t distance, std::size_t length) {
  if (length >= kStride + 16) {
    const auto wide = length - kStride;
    copy_match(to, distance, wide);
    to += wide;
    // Both the `wide` bytes, at least 16, and the bytes of the distance before them repeat with the
    // same period.
    const std::size_t apart = distance < 16 ? kWidened16[distance] : distance;
    move_bytes<16>(to, to - apart);
    move_bytes<16>(to + 16, to + 16 - apart);
    return;
  }
  for (const std::byte* const end = to + length; to < end; ++to) *to = *(to - distance);
}

}  // namespace framefs::codec
