// Compiled with -mavx2; see the note in kernel_functions.h.
#include <immintrin.h>

#include <cstring>

#include "codec/filter/kernel_functions.h"
#include "codec/filter/vectors_avx2.h"

namespace framefs::codec {
namespace {

// The number of elements in a tile: one vector of every plane.
constexpr std::size_t kTile = 32;
// The number of elements whose planes are gathered before their rows are written.  Long runs in one
// plane keep the hardware prefetcher effective when planes a power of two apart share few cache
// sets.
constexpr std::size_t kRun = 256;
constexpr std::size_t kGroup = 8;  // planes interleaved in registers at once

// Returns the next row.  The empty asm prevents g++ from using one induction variable per row of an
// unrolled loop, which would spill them all and halve the speed.
inline std::byte* next(std::byte* row, std::size_t pitch) {
  row += pitch;
  asm("" : "+r"(row));
  return row;
}

void tile2(const std::byte* in, std::size_t stride, std::byte* out) {
  __m256i v[2] = {load(in), load(in + stride)};
  interleave2(v);
  store_lanes<2>(v, out);
}

// Sixteen elements of width 3 become 48 bytes of a lane.  Byte k of these is byte k / 3 of plane k
// % 3.
struct Shuffle3 {
  std::byte from[3][3][16];  // [vector of the output][plane][byte]; 0x80 gives zero
  constexpr Shuffle3() : from{} {
    for (std::size_t k = 0; k < 48; ++k) {
      for (std::size_t plane = 0; plane < 3; ++plane) {
        from[k / 16][plane][k % 16] = static_cast<std::byte>(k % 3 == plane ? k / 3 : 0x80);
      }
    }
  }
};
constexpr Shuffle3 kShuffle3;

inline __m256i control3(std::size_t vector, std::size_t plane) {
  return _mm256_broadcastsi128_si256(load_half(kShuffle3.from[vector][plane]));
}

void tile3(const std::byte* in, std::size_t stride, std::byte* out) {
  const __m256i a = load(in);
  const __m256i b = load(in + stride);
  const __m256i c = load(in + 2 * stride);
  __m256i v[3];
#pragma GCC unroll 3
  for (std::size_t k = 0; k < 3; ++k) {
    v[k] = _mm256_or_si256(_mm256_or_si256(_mm256_shuffle_epi8(a, control3(k, 0)),
                                           _mm256_shuffle_epi8(b, control3(k, 1))),
                           _mm256_shuffle_epi8(c, control3(k, 2)));
  }
  store(out, _mm256_permute2x128_si256(v[0], v[1], 0x20));
  store(out + 32, _mm256_blend_epi32(v[2], v[0], 0xf0));
  store(out + 64, _mm256_permute2x128_si256(v[1], v[2], 0x31));
}

void tile4(const std::byte* in, std::size_t stride, std::byte* out) {
  __m256i v[4];
#pragma GCC unroll 4
  for (std::size_t j = 0; j < 4; ++j) v[j] = load(in + j * stride);
  interleave4(v);
  store_lanes<4>(v, out);
}

void tile8(const std::byte* in, std::size_t stride, std::byte* out) {
  __m256i v[8];
#pragma GCC unroll 8
  for (std::size_t j = 0; j < 8; ++j) v[j] = load(in + j * stride);
  interleave8(v);
  store_lanes<8>(v, out);
}

// Processes whole tiles.  If the elements do not fill the last tile, it starts earlier and
// overwrites elements that are already written.
template <std::size_t kWidth, std::size_t kElements,
          void (*kTileOf)(const std::byte*, std::size_t, std::byte*)>
void unshuffle_tiles(const ByteRows& planes, std::byte* out) {
  // Copies: written bytes might alias the members behind the reference.
  const auto [data, stride, size] = planes;
  std::size_t i = 0;
  for (; kElements <= size - i; i += kElements) kTileOf(data + i, stride, out + i * kWidth);
  if (i < size) {
    i = size - kElements;
    kTileOf(data + i, stride, out + i * kWidth);
  }
}

// Eight interleaved planes of a run.  The elements of each tile are in interleave8's order.
struct alignas(32) GroupRun {
  std::byte bytes[kRun * kGroup];
};

// The number of elements in the run that starts at element i.
inline std::size_t run_size(std::size_t i, std::size_t elements) {
  return elements - i < kRun ? elements - i : kRun;
}

// Gathers the group whose eight planes are `stride` bytes apart.  n is a multiple of kTile.
inline void gather_group(const std::byte* in, std::size_t stride, std::size_t n, GroupRun& group) {
  for (std::size_t i = 0; i < n; i += kTile) {
    __m256i v[8];
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kGroup; ++j) v[j] = load(in + j * stride + i);
    interleave8(v);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 8; ++k) store(group.bytes + i * kGroup + 32 * k, v[k]);
  }
}

// Gathers a group of fewer than eight planes.  The first plane replaces the missing ones; the
// resulting bytes are not used.
void gather_rest(const std::byte* in, std::size_t stride, std::size_t width, std::size_t n,
                 GroupRun& group) {
  const std::byte* row[kGroup];
  for (std::size_t j = 0; j < kGroup; ++j) row[j] = in + (j < width ? j : 0) * stride;
  for (std::size_t i = 0; i < n; i += kTile) {
    __m256i v[8];
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kGroup; ++j) v[j] = load(row[j] + i);
    interleave8(v);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 8; ++k) store(group.bytes + i * kGroup + 32 * k, v[k]);
  }
}

void gather_groups(const std::byte* in, std::size_t stride, std::size_t width, std::size_t n,
                   GroupRun* group) {
  for (; width >= kGroup; width -= kGroup) {
    gather_group(in, stride, n, *group++);
    in += kGroup * stride;
  }
  if (width > 0) gather_rest(in, stride, width, n, *group);
}

// Writes rows that begin `pitch` bytes apart and stores 16 (or 32) bytes for each, in order.  The
// next row overwrites the surplus bytes of a row.
void write_rows_of_16(const GroupRun& left, const GroupRun& right, std::size_t n, std::byte* out,
                      std::size_t pitch) {
  for (std::size_t half = 0; half < n / 16; ++half) {
    // The tile is half / 2: its low lanes hold elements 0..15, its high lanes elements 16..31.
    const std::size_t at = half / 2 * kTile * kGroup + half % 2 * 16;
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 8; ++k) {
      const __m128i a = load_half(left.bytes + at + 32 * k);
      const __m128i b = load_half(right.bytes + at + 32 * k);
      store_half(out, _mm_unpacklo_epi64(a, b));
      out = next(out, pitch);
      store_half(out, _mm_unpackhi_epi64(a, b));
      out = next(out, pitch);
    }
  }
}

// `last` is the group of the last planes: the fourth group, or the third again if rows have only
// three.
void write_rows_of_32(const GroupRun* groups, const GroupRun& last, std::size_t n, std::byte* out,
                      std::size_t pitch) {
  for (std::size_t half = 0; half < n / 16; ++half) {
    const std::size_t at = half / 2 * kTile * kGroup + half % 2 * 16;
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 8; ++k) {
      const std::size_t from = at + 32 * k;
      const __m256i ac = load_halves(groups[0].bytes + from, groups[2].bytes + from);
      const __m256i bd = load_halves(groups[1].bytes + from, last.bytes + from);
      store(out, _mm256_unpacklo_epi64(ac, bd));
      out = next(out, pitch);
      store(out, _mm256_unpackhi_epi64(ac, bd));
      out = next(out, pitch);
    }
  }
}

// Width 16: each vector holds two rows.
constexpr std::size_t kTile16 = 64;
void tile16(const std::byte* in, std::size_t stride, std::byte* out) {
  GroupRun left;
  GroupRun right;
  gather_group(in, stride, kTile16, left);
  gather_group(in + kGroup * stride, stride, kTile16, right);
  for (std::size_t i = 0; i < kTile16; i += kTile) {
    std::byte* rows = out + i * 16;
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 8; ++k) {
      const __m256i a = load(left.bytes + i * kGroup + 32 * k);
      const __m256i b = load(right.bytes + i * kGroup + 32 * k);
      const __m256i even = _mm256_unpacklo_epi64(a, b);
      const __m256i odd = _mm256_unpackhi_epi64(a, b);
      store(rows + 32 * k, _mm256_permute2x128_si256(even, odd, 0x20));
      store(rows + 256 + 32 * k, _mm256_permute2x128_si256(even, odd, 0x31));
    }
  }
}

// For widths 5..7: moves two elements that occupy 8 bytes each next to each other; 0x80 gives zero.
struct CloseUp {
  std::byte from[8][16];
  constexpr CloseUp() : from{} {
    for (std::size_t width = 5; width < 8; ++width) {
      for (std::size_t k = 0; k < 16; ++k) {
        from[width][k] = static_cast<std::byte>(k < 2 * width ? k / width * 8 + k % width : 0x80);
      }
    }
  }
};
constexpr CloseUp kCloseUp;

// Widths 5..7: each store writes 16 bytes for two elements.
void padded8(std::size_t width, const ByteRows& planes, std::byte* out) {
  const __m256i close_up = _mm256_broadcastsi128_si256(load_half(kCloseUp.from[width]));
  const std::byte* row[kGroup];
  for (std::size_t j = 0; j < kGroup; ++j) {
    row[j] = planes.data + (j < width ? j : 0) * planes.stride;
  }
  const std::size_t size = planes.size;
  for (std::size_t i = 0; i < size; i += kTile) {
    __m256i v[8];
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kGroup; ++j) v[j] = load(row[j] + i);
    interleave8(v);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 8; ++k) {
      v[k] = _mm256_shuffle_epi8(v[k], close_up);
      store_half(out, _mm256_castsi256_si128(v[k]));
      out = next(out, 2 * width);
    }
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 8; ++k) {
      store_half(out, _mm256_extracti128_si256(v[k], 1));
      out = next(out, 2 * width);
    }
  }
}

// Widths 9..16: each store writes 16 bytes for one element.
void padded16(std::size_t width, const ByteRows& planes, std::byte* out) {
  GroupRun groups[2];
  for (std::size_t i = 0; i < planes.size; i += kRun) {
    const std::size_t n = run_size(i, planes.size);
    gather_groups(planes.data + i, planes.stride, width, n, groups);
    write_rows_of_16(groups[0], groups[1], n, out + i * width, width);
  }
}

// Widths 17..31: the stores write 32 bytes for one element.
void padded32(std::size_t width, const ByteRows& planes, std::byte* out) {
  GroupRun groups[4];
  const GroupRun& last = width > 3 * kGroup ? groups[3] : groups[2];
  for (std::size_t i = 0; i < planes.size; i += kRun) {
    const std::size_t n = run_size(i, planes.size);
    gather_groups(planes.data + i, planes.stride, width, n, groups);
    write_rows_of_32(groups, last, n, out + i * width, width);
  }
}

// For widths whose stores reach up to two elements beyond their own.  The last elements are
// therefore produced in a buffer with room for the surplus.
template <void (*kTilesOf)(std::size_t, const ByteRows&, std::byte*)>
void unshuffle_padded(std::size_t width, const ByteRows& planes, std::byte* out) {
  constexpr std::size_t kReach = 2;
  std::size_t i = (planes.size - kReach) / kTile * kTile;
  kTilesOf(width, {planes.data, planes.stride, i}, out);
  std::byte last[kTile * kWidePlanes + kWidePlanes];
  for (; i < planes.size; i += kTile) {
    const std::size_t at = planes.size - i < kTile ? planes.size - kTile : i;
    kTilesOf(width, {planes.data + at, planes.stride, kTile}, last);
    std::memcpy(out + at * width, last, kTile * width);
  }
}

// Processes tiles of 32 planes.  For the rest, the last 16 planes if 16 or fewer are left, else the
// last 32; these may overlap planes already written.
void wide(std::size_t width, const ByteRows& planes, std::byte* out, std::size_t pitch) {
  GroupRun groups[4];
  for (std::size_t i = 0; i < planes.size; i += kRun) {
    const std::size_t n = run_size(i, planes.size);
    for (std::size_t j = 0; j < width; j += kWidePlanes) {
      const std::size_t left = width - j;
      const std::size_t taken = left <= 16 ? 16 : kWidePlanes;
      const std::size_t first = left < taken ? width - taken : j;
      gather_groups(planes.data + first * planes.stride + i, planes.stride, taken, n, groups);
      std::byte* rows = out + i * pitch + first;
      if (taken == 16) {
        write_rows_of_16(groups[0], groups[1], n, rows, pitch);
      } else {
        write_rows_of_32(groups, groups[3], n, rows, pitch);
      }
    }
  }
}

void unshuffle_wide(std::size_t width, const ByteRows& planes, std::byte* out, std::size_t pitch) {
  const std::size_t even = planes.size / kTile * kTile;
  wide(width, {planes.data, planes.stride, even}, out, pitch);
  if (even < planes.size) {
    const std::size_t at = planes.size - kTile;
    wide(width, {planes.data + at, planes.stride, kTile}, out + at * pitch, pitch);
  }
}

}  // namespace

void unshuffle_avx2(std::size_t width, const ByteRows& planes, std::byte* out, std::size_t pitch) {
  if (planes.size < kTile || width == 1) return unshuffle_scalar(width, planes, out, pitch);
  switch (width) {
    case 2:
      return unshuffle_tiles<2, kTile, tile2>(planes, out);
    case 3:
      return unshuffle_tiles<3, kTile, tile3>(planes, out);
    case 4:
      return unshuffle_tiles<4, kTile, tile4>(planes, out);
    case 8:
      return unshuffle_tiles<8, kTile, tile8>(planes, out);
    case 16:
      if (planes.size < kTile16) return unshuffle_padded<padded16>(width, planes, out);
      return unshuffle_tiles<16, kTile16, tile16>(planes, out);
    default:
      if (width < 8) return unshuffle_padded<padded8>(width, planes, out);
      if (width < 16) return unshuffle_padded<padded16>(width, planes, out);
      if (width < kWidePlanes) return unshuffle_padded<padded32>(width, planes, out);
      return unshuffle_wide(width, planes, out, pitch);
  }
}

}  // namespace framefs::codec
