#pragma once

// For files compiled with -mavx2 (and more).  Everything is in an unnamed namespace, so that each
// file has its own copy and the linker cannot mix them.
#include <immintrin.h>

#include <cstddef>

namespace framefs::codec {
namespace {

inline __m256i load(const std::byte* from) {
  // Sound: __m256i_u is the intrinsics' type of a vector that may alias anything at any address.
  return _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(from));
}
inline void store(std::byte* to, __m256i v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(to), v);  // as above
}

inline __m128i load_half(const std::byte* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from));  // as above
}
inline void store_half(std::byte* to, __m128i v) {
  _mm_storeu_si128(reinterpret_cast<__m128i_u*>(to), v);  // as above
}
inline __m256i load_halves(const std::byte* low, const std::byte* high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(low)), load_half(high), 1);
}

// interleaveN: v holds one vector of each of N planes.  Afterwards v[k] holds, in each 128-bit
// lane, the elements from k * 16/N on of that lane's sixteen, N bytes each, in order.
inline void interleave2(__m256i* v) {
  const __m256i low = _mm256_unpacklo_epi8(v[0], v[1]);
  v[1] = _mm256_unpackhi_epi8(v[0], v[1]);
  v[0] = low;
}

inline void interleave4(__m256i* v) {
  interleave2(v);
  interleave2(v + 2);
  const __m256i a = _mm256_unpacklo_epi16(v[0], v[2]);
  const __m256i b = _mm256_unpackhi_epi16(v[0], v[2]);
  const __m256i c = _mm256_unpacklo_epi16(v[1], v[3]);
  const __m256i d = _mm256_unpackhi_epi16(v[1], v[3]);
  v[0] = a;
  v[1] = b;
  v[2] = c;
  v[3] = d;
}

inline void interleave8(__m256i* v) {
  interleave4(v);
  interleave4(v + 4);
  __m256i r[8];
#pragma GCC unroll 4
  for (std::size_t k = 0; k < 4; ++k) {
    r[2 * k] = _mm256_unpacklo_epi32(v[k], v[k + 4]);
    r[2 * k + 1] = _mm256_unpackhi_epi32(v[k], v[k + 4]);
  }
#pragma GCC unroll 8
  for (std::size_t k = 0; k < 8; ++k) v[k] = r[k];
}

// v[k] holds 16 bytes of output per lane.  The output of all high lanes follows that of all low
// lanes.
template <std::size_t kVectors>
inline void store_lanes(const __m256i* v, std::byte* out) {
#pragma GCC unroll 4
  for (std::size_t k = 0; k < kVectors / 2; ++k) {
    store(out + 32 * k, _mm256_permute2x128_si256(v[2 * k], v[2 * k + 1], 0x20));
  }
#pragma GCC unroll 4
  for (std::size_t k = 0; k < kVectors / 2; ++k) {
    store(out + 16 * kVectors + 32 * k, _mm256_permute2x128_si256(v[2 * k], v[2 * k + 1], 0x31));
  }
}

// The order of sixteen bytes that brings byte j of all their elements together.
template <std::size_t kWidth>
struct Gather {
  std::byte from[16];
  constexpr Gather() : from{} {
    constexpr std::size_t kElements = 16 / kWidth;
    for (std::size_t k = 0; k < 16; ++k) {
      from[k] = static_cast<std::byte>(k % kElements * kWidth + k / kElements);
    }
  }
};
template <std::size_t kWidth>
constexpr Gather<kWidth> kGather;

template <std::size_t kWidth>
inline __m256i gathered(__m256i elements) {
  const __m256i control = _mm256_broadcastsi128_si256(load_half(kGather<kWidth>.from));
  return _mm256_shuffle_epi8(elements, control);
}

// v[k] holds, in each lane, eight pairs: byte j of elements 2 * k and 2 * k + 1 of that lane's
// sixteen.  Afterwards v[j] is plane j.
inline void transpose_pairs(__m256i* v) {
  __m256i w[8];
#pragma GCC unroll 4
  for (std::size_t k = 0; k < 4; ++k) {
    w[k] = _mm256_unpacklo_epi16(v[2 * k], v[2 * k + 1]);
    w[k + 4] = _mm256_unpackhi_epi16(v[2 * k], v[2 * k + 1]);
  }
#pragma GCC unroll 2
  for (std::size_t h = 0; h < 8; h += 4) {
    const __m256i a = _mm256_unpacklo_epi32(w[h], w[h + 1]);
    const __m256i b = _mm256_unpacklo_epi32(w[h + 2], w[h + 3]);
    const __m256i c = _mm256_unpackhi_epi32(w[h], w[h + 1]);
    const __m256i d = _mm256_unpackhi_epi32(w[h + 2], w[h + 3]);
    v[h] = _mm256_unpacklo_epi64(a, b);
    v[h + 1] = _mm256_unpackhi_epi64(a, b);
    v[h + 2] = _mm256_unpacklo_epi64(c, d);
    v[h + 3] = _mm256_unpackhi_epi64(c, d);
  }
}

// Produces the eight planes of 32 elements of eight bytes.
inline void deal8(const std::byte* in, __m256i* v) {
#pragma GCC unroll 8
  for (std::size_t k = 0; k < 8; ++k) {
    v[k] = gathered<8>(load_halves(in + 16 * k, in + 128 + 16 * k));
  }
  transpose_pairs(v);
}

// In every byte, swaps the bits `mask` << kShift of `low` with the bits `mask` of `high`.
template <int kShift>
inline void swap_bits(__m256i& low, __m256i& high, __m256i mask) {
  const __m256i t = _mm256_and_si256(_mm256_xor_si256(_mm256_srli_epi16(low, kShift), high), mask);
  high = _mm256_xor_si256(high, t);
  low = _mm256_xor_si256(low, _mm256_slli_epi16(t, kShift));
}

// Transposes 8 x 8 bits at every byte position: bit i of row b becomes bit b of row i.
inline void transpose_bits(__m256i* v) {
  const __m256i nibble = _mm256_set1_epi8(0x0f);
  const __m256i pair = _mm256_set1_epi8(0x33);
  const __m256i single = _mm256_set1_epi8(0x55);
#pragma GCC unroll 4
  for (std::size_t k = 0; k < 4; ++k) swap_bits<4>(v[k], v[k + 4], nibble);
#pragma GCC unroll 4
  for (std::size_t k = 0; k < 4; ++k) swap_bits<2>(v[k + k / 2 * 2], v[k + k / 2 * 2 + 2], pair);
#pragma GCC unroll 4
  for (std::size_t k = 0; k < 4; ++k) swap_bits<1>(v[2 * k], v[2 * k + 1], single);
}

}  // namespace
}  // namespace framefs::codec
