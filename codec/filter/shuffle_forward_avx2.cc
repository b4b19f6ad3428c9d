// Compiled with -mavx2; see the note in kernel_functions.h.  Splits elements into planes: the
// inverse of shuffle_avx2.cc.
#include <immintrin.h>

#include <cstring>

#include "codec/filter/kernel_functions.h"
#include "codec/filter/vectors_avx2.h"

namespace framefs::codec {
namespace {

// The number of elements in a tile: one vector of every plane.
constexpr std::size_t kTile = 32;
// The number of elements for which one group of planes is written before the next group.  Thus few
// planes at a time compete for the cache sets that planes a power of two apart share.
constexpr std::size_t kRun = 256;
constexpr std::size_t kGroup = 8;  // planes produced in registers at once

void tile2(const std::byte* in, std::byte* planes, std::size_t stride) {
  const __m256i a = gathered<2>(load_halves(in, in + 32));
  const __m256i b = gathered<2>(load_halves(in + 16, in + 48));
  store(planes, _mm256_unpacklo_epi64(a, b));
  store(planes + stride, _mm256_unpackhi_epi64(a, b));
}

void tile4(const std::byte* in, std::byte* planes, std::size_t stride) {
  __m256i v[4];
#pragma GCC unroll 4
  for (std::size_t k = 0; k < 4; ++k)
    v[k] = gathered<4>(load_halves(in + 16 * k, in + 64 + 16 * k));
  const __m256i a = _mm256_unpacklo_epi32(v[0], v[1]);
  const __m256i b = _mm256_unpacklo_epi32(v[2], v[3]);
  const __m256i c = _mm256_unpackhi_epi32(v[0], v[1]);
  const __m256i d = _mm256_unpackhi_epi32(v[2], v[3]);
  store(planes, _mm256_unpacklo_epi64(a, b));
  store(planes + stride, _mm256_unpackhi_epi64(a, b));
  store(planes + 2 * stride, _mm256_unpacklo_epi64(c, d));
  store(planes + 3 * stride, _mm256_unpackhi_epi64(c, d));
}

void tile8(const std::byte* in, std::byte* planes, std::size_t stride) {
  __m256i v[8];
  deal8(in, v);
#pragma GCC unroll 8
  for (std::size_t j = 0; j < 8; ++j) store(planes + j * stride, v[j]);
}

inline __m128i load_quarter(const std::byte* from) { return _mm_loadu_si64(from); }

// Writes the first `kept` of the eight planes whose bytes begin at `in`, for elements `pitch` bytes
// apart.  Reads eight bytes of each element.
inline void tile_of_group(const std::byte* in, std::size_t pitch, std::size_t kept,
                          std::byte* planes, std::size_t stride) {
  __m256i v[8];
#pragma GCC unroll 8
  for (std::size_t k = 0; k < 8; ++k) {
    const std::byte* low = in + 2 * k * pitch;
    const std::byte* high = low + 16 * pitch;
    const __m128i a = _mm_unpacklo_epi8(load_quarter(low), load_quarter(low + pitch));
    const __m128i b = _mm_unpacklo_epi8(load_quarter(high), load_quarter(high + pitch));
    v[k] = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
  }
  transpose_pairs(v);
  for (std::size_t j = 0; j < kept; ++j) store(planes + j * stride, v[j]);
}

// Processes whole tiles.  If the elements do not fill the last tile, it starts earlier and
// overlaps.
template <std::size_t kWidth, void (*kTileOf)(const std::byte*, std::byte*, std::size_t)>
void shuffle_tiles(const std::byte* in, const WritableByteRows& planes) {
  // Copies: written bytes might alias the members behind the reference.
  const auto [data, stride, size] = planes;
  std::size_t i = 0;
  for (; kTile <= size - i; i += kTile) kTileOf(in + i * kWidth, data + i, stride);
  if (i < size) {
    i = size - kTile;
    kTileOf(in + i * kWidth, data + i, stride);
  }
}

// Widths 3 and 5..7: the loop reads eight bytes of each element, up to two elements too far.  The
// last elements are therefore copied to a buffer with room after them.
void shuffle_narrow(std::size_t width, const std::byte* in, std::size_t pitch,
                    const WritableByteRows& planes) {
  constexpr std::size_t kReach = 2;
  const auto [data, stride, size] = planes;
  std::size_t i = 0;
  for (; size - i >= kTile + kReach; i += kTile) {
    tile_of_group(in + i * pitch, pitch, width, data + i, stride);
  }
  std::byte last[kTile * kGroup] = {};
  for (; i < size; i += kTile) {
    const std::size_t at = size - i < kTile ? size - kTile : i;
    for (std::size_t k = 0; k < kTile; ++k) {
      std::memcpy(last + k * kGroup, in + (at + k) * pitch, width);
    }
    tile_of_group(last, kGroup, width, data + at, stride);
  }
}

// Widths above 8: eight planes at a time.  The last eight may overlap planes already written.
void shuffle_wide(std::size_t width, const std::byte* in, std::size_t pitch,
                  const WritableByteRows& planes) {
  const auto [data, stride, size] = planes;
  for (std::size_t run = 0; run < size; run += kRun) {
    const std::size_t end = size - run < kRun ? size : run + kRun;
    for (std::size_t j = 0; j < width; j += kGroup) {
      const std::size_t first = width - j < kGroup ? width - kGroup : j;
      for (std::size_t at = run; at < end; at += kTile) {
        const std::size_t i = size - at < kTile ? size - kTile : at;
        tile_of_group(in + i * pitch + first, pitch, kGroup, data + first * stride + i, stride);
      }
    }
  }
}

}  // namespace

void shuffle_avx2(std::size_t width, const std::byte* in, std::size_t pitch,
                  const WritableByteRows& planes) {
  if (planes.size < kTile || width == 1) return shuffle_scalar(width, in, pitch, planes);
  if (width > kGroup) return shuffle_wide(width, in, pitch, planes);
  if (pitch == width) {
    if (width == 2) return shuffle_tiles<2, tile2>(in, planes);
    if (width == 4) return shuffle_tiles<4, tile4>(in, planes);
    if (width == 8) return shuffle_tiles<8, tile8>(in, planes);
  }
  shuffle_narrow(width, in, pitch, planes);
}

}  // namespace framefs::codec
