// Compiled for AVX2 and AVX-512 (F, BW, VL, VBMI); see the note in kernel_functions.h.  This file
// has the widths for which one byte permutation across a 64-byte vector beats the AVX2 version.  It
// calls that version for all other widths.
#include <immintrin.h>

#include <cstring>

#include "codec/filter/kernel_functions.h"

namespace framefs::codec {
namespace {

constexpr std::size_t kTile = 16;      // elements: a quarter of a vector from every plane
constexpr std::size_t kMaxWidth = 15;  // supported here
constexpr std::size_t kVector = 64;    // bytes

// Byte permutations.  A tile is loaded as four planes per vector, sixteen bytes each.
struct Permutations {
  // Widths 5..7: the source of byte k of elements 0..7 (then 8..15) in two such vectors.
  unsigned char narrow[8][2][kVector];
  // The bytes of four planes become 4-byte groups; group i of lane l belongs to element 4 * i + l.
  unsigned char quads[kVector];
  // Widths 9..15: moves four elements that occupy 16 bytes each next to each other.
  unsigned char close_up[kMaxWidth + 1][kVector];

  constexpr Permutations() : narrow{}, quads{}, close_up{} {
    for (std::size_t k = 0; k < kVector; ++k) {
      quads[k] = static_cast<unsigned char>(k % 4 * 16 + k % 16 / 4 * 4 + k / 16);
      for (std::size_t width = 5; width < 8; ++width) {
        const std::size_t plane = k % width;
        for (std::size_t half = 0; half < 2 && k < 8 * width; ++half) {
          narrow[width][half][k] = static_cast<unsigned char>(plane * 16 + k / width + half * 8);
        }
      }
      for (std::size_t width = 9; width <= kMaxWidth; ++width) {
        if (k < 4 * width) {
          close_up[width][k] = static_cast<unsigned char>(k / width * 16 + k % width);
        }
      }
    }
  }
};
alignas(kVector) constexpr Permutations kPermutations;

// The unmasked intrinsics start from an undefined vector, and g++ 12 warns about that when it
// optimises (https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105593).  The zero-masked intrinsics with
// every lane kept compile to the same instructions.  Revert to the unmasked ones when g++ 13 is the
// oldest supported compiler.
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
  // Sound: __m128i_u is the intrinsics' type of a vector that may alias anything at any address.
  return _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from));
}

// Loads sixteen bytes of each of four rows, in order.
inline __m512i load_four(const std::byte* a, const std::byte* b, const std::byte* c,
                         const std::byte* d) {
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(load16(a)), load16(b), 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(load16(c)), load16(d), 1);
  return join(low, high);
}

// The rows of the planes, starting at `at`.  Rows beyond `width` repeat the first; their bytes are
// not used.
template <std::size_t kRows>
inline void plane_rows(const ByteRows& planes, std::size_t width, std::size_t at,
                       const std::byte* (&row)[kRows]) {
  for (std::size_t j = 0; j < kRows; ++j) {
    row[j] = planes.data + (j < width ? j : 0) * planes.stride + at;
  }
}

void run_narrow(const ByteRows& planes, std::size_t width, std::size_t at, std::size_t n,
                std::byte* out) {
  const __m512i first = _mm512_loadu_si512(kPermutations.narrow[width][0]);
  const __m512i second = _mm512_loadu_si512(kPermutations.narrow[width][1]);
  const std::byte* row[8];
  plane_rows(planes, width, at, row);
  for (std::size_t i = 0; i < n; i += kTile) {
    const __m512i a = load_four(row[0] + i, row[1] + i, row[2] + i, row[3] + i);
    const __m512i b = load_four(row[4] + i, row[5] + i, row[6] + i, row[7] + i);
    _mm512_storeu_si512(out, _mm512_permutex2var_epi8(a, first, b));
    _mm512_storeu_si512(out + 8 * width, _mm512_permutex2var_epi8(a, second, b));
    out += kTile * width;
  }
}

void run_medium(const ByteRows& planes, std::size_t width, std::size_t at, std::size_t n,
                std::byte* out) {
  const __m512i quads = _mm512_loadu_si512(kPermutations.quads);
  const __m512i close_up = _mm512_loadu_si512(kPermutations.close_up[width]);
  const std::byte* row[16];
  plane_rows(planes, width, at, row);
  for (std::size_t i = 0; i < n; i += kTile) {
    const __m512i a = permute(quads, load_four(row[0] + i, row[1] + i, row[2] + i, row[3] + i));
    const __m512i b = permute(quads, load_four(row[4] + i, row[5] + i, row[6] + i, row[7] + i));
    const __m512i c = permute(quads, load_four(row[8] + i, row[9] + i, row[10] + i, row[11] + i));
    const __m512i d = permute(quads, load_four(row[12] + i, row[13] + i, row[14] + i, row[15] + i));
    const __m512i ab_low = unpack_low32(a, b);
    const __m512i ab_high = unpack_high32(a, b);
    const __m512i cd_low = unpack_low32(c, d);
    const __m512i cd_high = unpack_high32(c, d);
    const __m512i elements[4] = {unpack_low64(ab_low, cd_low), unpack_high64(ab_low, cd_low),
                                 unpack_low64(ab_high, cd_high), unpack_high64(ab_high, cd_high)};
#pragma GCC unroll 4
    for (std::size_t k = 0; k < 4; ++k) {
      _mm512_storeu_si512(out, permute(close_up, elements[k]));
      out += 4 * width;
    }
  }
}

// A vector may be stored up to 63 bytes beyond its elements; later stores overwrite the surplus.
// The last elements are therefore produced in a buffer with room for it.
template <void (*kRunOf)(const ByteRows&, std::size_t, std::size_t, std::size_t, std::byte*)>
void unshuffle_padded(std::size_t width, const ByteRows& planes, std::byte* out) {
  const std::size_t reach = kVector / width + 1;  // elements
  const std::size_t run = planes.size > reach ? (planes.size - reach) / kTile * kTile : 0;
  kRunOf(planes, width, 0, run, out);
  std::byte last[kTile * kMaxWidth + kVector];
  for (std::size_t i = run; i < planes.size; i += kTile) {
    const std::size_t at = planes.size - i < kTile ? planes.size - kTile : i;
    kRunOf(planes, width, at, kTile, last);
    std::memcpy(out + at * width, last, kTile * width);
  }
}

}  // namespace

void unshuffle_avx512(std::size_t width, const ByteRows& planes, std::byte* out,
                      std::size_t pitch) {
  const bool narrow = width >= 5 && width <= 7;
  const bool medium = width >= 9 && width <= kMaxWidth;
  if (planes.size < kTile || !(narrow || medium)) return unshuffle_avx2(width, planes, out, pitch);
  if (narrow) return unshuffle_padded<run_narrow>(width, planes, out);
  return unshuffle_padded<run_medium>(width, planes, out);
}

}  // namespace framefs::codec
