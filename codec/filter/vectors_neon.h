#pragma once

// For files named *_neon.cc.  Every arm64 CPU has these instructions, so that no check is needed.
#include <arm_neon.h>

#include <cstddef>

namespace framefs::codec {
namespace {

// The number of bytes in a vector, and of elements in a tile: one vector of every plane.
constexpr std::size_t kLanes = 16;

inline uint8x16_t load(const std::byte* from) {
  // Sound: unsigned char may alias anything.
  return vld1q_u8(reinterpret_cast<const unsigned char*>(from));
}
inline void store(std::byte* to, uint8x16_t v) {
  vst1q_u8(reinterpret_cast<unsigned char*>(to), v);  // as above
}

inline uint8x8_t load_half(const std::byte* from) {
  return vld1_u8(reinterpret_cast<const unsigned char*>(from));  // as above
}
inline void store_half(std::byte* to, uint8x8_t v) {
  vst1_u8(reinterpret_cast<unsigned char*>(to), v);  // as above
}

// v holds one vector of each of eight planes.  Afterwards v[k] holds the elements 2 * k and
// 2 * k + 1, eight bytes each.
inline void interleave8(uint8x16_t* v) {
  uint8x16_t
      pairs[8];  // [2 * j]: the first eight elements of planes j and j + 4; [2 * j + 1]: the rest
#pragma GCC unroll 4
  for (std::size_t j = 0; j < 4; ++j) {
    pairs[2 * j] = vzip1q_u8(v[j], v[j + 4]);
    pairs[2 * j + 1] = vzip2q_u8(v[j], v[j + 4]);
  }
  uint8x16_t
      fours[8];  // [4 * j + q]: quarter q of the elements, of planes j, j + 2, j + 4 and j + 6
#pragma GCC unroll 2
  for (std::size_t j = 0; j < 2; ++j) {
#pragma GCC unroll 2
    for (std::size_t h = 0; h < 2; ++h) {
      fours[4 * j + 2 * h] = vzip1q_u8(pairs[2 * j + h], pairs[2 * (j + 2) + h]);
      fours[4 * j + 2 * h + 1] = vzip2q_u8(pairs[2 * j + h], pairs[2 * (j + 2) + h]);
    }
  }
#pragma GCC unroll 4
  for (std::size_t q = 0; q < 4; ++q) {
    v[2 * q] = vzip1q_u8(fours[q], fours[4 + q]);
    v[2 * q + 1] = vzip2q_u8(fours[q], fours[4 + q]);
  }
}

// The inverse of interleave8().
inline void deal8(uint8x16_t* v) {
  uint8x16_t fours[8];
#pragma GCC unroll 4
  for (std::size_t q = 0; q < 4; ++q) {
    fours[q] = vuzp1q_u8(v[2 * q], v[2 * q + 1]);
    fours[4 + q] = vuzp2q_u8(v[2 * q], v[2 * q + 1]);
  }
  uint8x16_t pairs[8];
#pragma GCC unroll 2
  for (std::size_t j = 0; j < 2; ++j) {
#pragma GCC unroll 2
    for (std::size_t h = 0; h < 2; ++h) {
      pairs[2 * j + h] = vuzp1q_u8(fours[4 * j + 2 * h], fours[4 * j + 2 * h + 1]);
      pairs[2 * (j + 2) + h] = vuzp2q_u8(fours[4 * j + 2 * h], fours[4 * j + 2 * h + 1]);
    }
  }
#pragma GCC unroll 4
  for (std::size_t j = 0; j < 4; ++j) {
    v[j] = vuzp1q_u8(pairs[2 * j], pairs[2 * j + 1]);
    v[j + 4] = vuzp2q_u8(pairs[2 * j], pairs[2 * j + 1]);
  }
}

// In every byte, swaps the bits `mask` << kShift of `low` with the bits `mask` of `high`.
template <int kShift>
inline void swap_bits(uint8x16_t& low, uint8x16_t& high, uint8x16_t mask) {
  const uint8x16_t t = vbslq_u8(mask, low, vshlq_n_u8(high, kShift));
  high = vbslq_u8(mask, vshrq_n_u8(low, kShift), high);
  low = t;
}

// Transposes 8 x 8 bits at every byte position: bit i of row b becomes bit b of row i.
inline void transpose_bits(uint8x16_t* v) {
#pragma GCC unroll 4
  for (std::size_t k = 0; k < 4; ++k) {  // four bits are half a byte: an insertion needs no mask
    const uint8x16_t low = v[k];
    v[k] = vsliq_n_u8(low, v[k + 4], 4);
    v[k + 4] = vsriq_n_u8(v[k + 4], low, 4);
  }
#pragma GCC unroll 4
  for (std::size_t k = 0; k < 4; ++k)
    swap_bits<2>(v[k + k / 2 * 2], v[k + k / 2 * 2 + 2], vdupq_n_u8(0x33));
#pragma GCC unroll 4
  for (std::size_t k = 0; k < 4; ++k) swap_bits<1>(v[2 * k], v[2 * k + 1], vdupq_n_u8(0x55));
}

}  // namespace
}  // namespace framefs::codec
