#pragma once

// For files compiled with -mavx2 (and more).  All of it is in an unnamed namespace, so that each of
// them has its own copy and none can be taken for another's at link time.
#include <immintrin.h>

#include <cstddef>

namespace framefs::codec {
namespace {

inline __m256i load(const std::byte* from) {
  // Sound: __m256i_u is the intrinsics' type of a vector that may alias anything and lie anywhere.
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

// interleaveN: v holds one vector of each of N planes; after it v[k] holds, in each 128-bit lane,
// the elements k * 16/N .. of that lane's sixteen, N bytes each, in order.
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

// v[k] holds 16 bytes of output per lane, the high lanes' following all the low lanes'.
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

}  // namespace
}  // namespace framefs::codec
