#pragma once

// For files compiled with -mavx512f -mavx512bw -mavx512vl -mavx512vbmi (and more).  All of it is in
// an unnamed namespace, so that each of them has its own copy and none can be taken for another's
// at link time.
#include <immintrin.h>

#include <cstddef>

namespace framefs::codec {
namespace {

constexpr std::size_t kVector = 64;  // bytes

// The unmasked intrinsics start from an undefined vector, which g++ 12 warns of when it optimises
// (https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105593).  Zero-masked with every lane kept they are
// the same instructions.  To be undone when g++ 13 is the oldest compiler.
inline __m512i permute(__m512i from, __m512i bytes) {
  return _mm512_maskz_permutexvar_epi8(~__mmask64{0}, from, bytes);
}
inline __m512i unpack_low32(__m512i a, __m512i b) {
  return _mm512_maskz_unpacklo_epi32(static_cast<__mmask16>(0xffff), a, b);
}
inline __m512i unpack_high32(__m512i a, __m512i b) {
  return _mm512_maskz_unpackhi_epi32(static_cast<__mmask16>(0xffff), a, b);
}
inline __m512i unpack_low64(__m512i a, __m512i b) {
  return _mm512_maskz_unpacklo_epi64(static_cast<__mmask8>(0xff), a, b);
}
inline __m512i unpack_high64(__m512i a, __m512i b) {
  return _mm512_maskz_unpackhi_epi64(static_cast<__mmask8>(0xff), a, b);
}
inline __m512i join(__m256i low, __m256i high) {
  return _mm512_maskz_inserti64x4(static_cast<__mmask8>(0xff), _mm512_castsi256_si512(low), high,
                                  1);
}

inline __m128i load16(const std::byte* from) {
  // Sound: __m128i_u is the intrinsics' type of a vector that may alias anything and lie anywhere.
  return _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from));
}

// Sixteen bytes of each of four rows, in order.
inline __m512i load_four(const std::byte* a, const std::byte* b, const std::byte* c,
                         const std::byte* d) {
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(load16(a)), load16(b), 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(load16(c)), load16(d), 1);
  return join(low, high);
}

}  // namespace
}  // namespace framefs::codec
