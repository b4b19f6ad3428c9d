#include <cstring>

#include "codec/filter/kernel_functions.h"
#include "codec/filter/vectors_neon.h"

namespace framefs::codec {
namespace {

// The number of elements for which one group of planes is processed before the next group.  The
// rows of a run stay cached, and few planes at a time compete for the cache sets that planes a
// power of two apart share.
constexpr std::size_t kRun = 256;
constexpr std::size_t kGroup = 8;  // planes processed in registers at once

// A tile of each width follows, and its inverse below.  They are inline because g++ calls those of
// width 4 for each 64 bytes otherwise.
inline void join2(const std::byte* in, std::size_t stride, std::byte* out) {
  const uint8x16_t a = load(in);
  const uint8x16_t b = load(in + stride);
  store(out, vzip1q_u8(a, b));
  store(out + kLanes, vzip2q_u8(a, b));
}

inline void join3(const std::byte* in, std::size_t stride, std::byte* out) {
  const uint8x16x3_t planes{{load(in), load(in + stride), load(in + 2 * stride)}};
  vst3q_u8(reinterpret_cast<unsigned char*>(out), planes);  // sound: see vectors_neon.h
}

// Two steps of zips: on most CPUs, the store of four interleaved vectors takes longer.
inline void join4(const std::byte* in, std::size_t stride, std::byte* out) {
  const uint8x16_t a = load(in);
  const uint8x16_t b = load(in + stride);
  const uint8x16_t c = load(in + 2 * stride);
  const uint8x16_t d = load(in + 3 * stride);
  const uint8x16_t ac[2] = {vzip1q_u8(a, c), vzip2q_u8(a, c)};
  const uint8x16_t bd[2] = {vzip1q_u8(b, d), vzip2q_u8(b, d)};
#pragma GCC unroll 2
  for (std::size_t h = 0; h < 2; ++h) {
    store(out + 2 * h * kLanes, vzip1q_u8(ac[h], bd[h]));
    store(out + (2 * h + 1) * kLanes, vzip2q_u8(ac[h], bd[h]));
  }
}

inline void join8(const std::byte* in, std::size_t stride, std::byte* out) {
  uint8x16_t v[kGroup];
#pragma GCC unroll 8
  for (std::size_t j = 0; j < kGroup; ++j) v[j] = load(in + j * stride);
  interleave8(v);
#pragma GCC unroll 8
  for (std::size_t k = 0; k < kGroup; ++k) store(out + k * kLanes, v[k]);
}

// Writes eight bytes of each element, `pitch` bytes apart, in ascending order.
inline void join_rows(const std::byte* const* planes, std::byte* out, std::size_t pitch) {
  uint8x16_t v[kGroup];
#pragma GCC unroll 8
  for (std::size_t j = 0; j < kGroup; ++j) v[j] = load(planes[j]);
  interleave8(v);
#pragma GCC unroll 8
  for (std::size_t k = 0; k < kGroup; ++k) {
    store_half(out + 2 * k * pitch, vget_low_u8(v[k]));
    store_half(out + (2 * k + 1) * pitch, vget_high_u8(v[k]));
  }
}

inline void deal2(const std::byte* in, std::byte* planes, std::size_t stride) {
  const uint8x16_t a = load(in);
  const uint8x16_t b = load(in + kLanes);
  store(planes, vuzp1q_u8(a, b));
  store(planes + stride, vuzp2q_u8(a, b));
}

inline void deal3(const std::byte* in, std::byte* planes, std::size_t stride) {
  // Sound: see vectors_neon.h.
  const uint8x16x3_t v = vld3q_u8(reinterpret_cast<const unsigned char*>(in));
  for (std::size_t j = 0; j < 3; ++j) store(planes + j * stride, v.val[j]);
}

inline void deal4(const std::byte* in, std::byte* planes, std::size_t stride) {
  uint8x16_t ac[2];
  uint8x16_t bd[2];
#pragma GCC unroll 2
  for (std::size_t h = 0; h < 2; ++h) {
    const uint8x16_t first = load(in + 2 * h * kLanes);
    const uint8x16_t second = load(in + (2 * h + 1) * kLanes);
    ac[h] = vuzp1q_u8(first, second);
    bd[h] = vuzp2q_u8(first, second);
  }
  store(planes, vuzp1q_u8(ac[0], ac[1]));
  store(planes + stride, vuzp1q_u8(bd[0], bd[1]));
  store(planes + 2 * stride, vuzp2q_u8(ac[0], ac[1]));
  store(planes + 3 * stride, vuzp2q_u8(bd[0], bd[1]));
}

inline void deal8_tile(const std::byte* in, std::byte* planes, std::size_t stride) {
  uint8x16_t v[kGroup];
#pragma GCC unroll 8
  for (std::size_t k = 0; k < kGroup; ++k) v[k] = load(in + k * kLanes);
  deal8(v);
#pragma GCC unroll 8
  for (std::size_t j = 0; j < kGroup; ++j) store(planes + j * stride, v[j]);
}

// Writes the first `kept` of the eight planes whose bytes begin at `in`, for elements `pitch` bytes
// apart.  Reads eight bytes of each element.
inline void deal_rows(const std::byte* in, std::size_t pitch, std::size_t kept, std::byte* planes,
                      std::size_t stride) {
  uint8x16_t v[kGroup];
#pragma GCC unroll 8
  for (std::size_t k = 0; k < kGroup; ++k) {
    const std::byte* row = in + 2 * k * pitch;
    v[k] = vcombine_u8(load_half(row), load_half(row + pitch));
  }
  deal8(v);
  for (std::size_t j = 0; j < kept; ++j) store(planes + j * stride, v[j]);
}

// Both for whole tiles.  If the elements do not fill the last tile, it starts earlier and overlaps.
template <std::size_t kWidth, void (*kTileOf)(const std::byte*, std::size_t, std::byte*)>
void unshuffle_tiles(const ByteRows& planes, std::byte* out) {
  // Copies: written bytes might alias the members behind the reference.
  const auto [data, stride, size] = planes;
  std::size_t i = 0;
  for (; kLanes <= size - i; i += kLanes) kTileOf(data + i, stride, out + i * kWidth);
  if (i < size) kTileOf(data + size - kLanes, stride, out + (size - kLanes) * kWidth);
}

template <std::size_t kWidth, void (*kTileOf)(const std::byte*, std::byte*, std::size_t)>
void shuffle_tiles(const std::byte* in, const WritableByteRows& planes) {
  const auto [data, stride, size] = planes;
  std::size_t i = 0;
  for (; kLanes <= size - i; i += kLanes) kTileOf(in + i * kWidth, data + i, stride);
  if (i < size) kTileOf(in + (size - kLanes) * kWidth, data + size - kLanes, stride);
}

// The planes of a group of `width` <= 8, at element `at`.  The planes that are missing repeat the
// first one.
struct GroupPlanes {
  const std::byte* at[kGroup];
};
inline GroupPlanes group_planes(const std::byte* data, std::size_t stride, std::size_t width) {
  GroupPlanes planes;
  for (std::size_t j = 0; j < kGroup; ++j) planes.at[j] = data + (j < width ? j : 0) * stride;
  return planes;
}

// Widths 5..7: the surplus of an element is overwritten by the next one.  The last elements are
// produced in a buffer with room after them.
void unshuffle_narrow(std::size_t width, const ByteRows& rows, std::byte* out) {
  const auto [data, stride, size] = rows;
  std::size_t i = 0;
  for (; size - i > kLanes; i += kLanes) {
    join_rows(group_planes(data + i, stride, width).at, out + i * width, width);
  }
  const std::size_t last = size - kLanes;
  std::byte held[(kLanes + 1) * kGroup];
  join_rows(group_planes(data + last, stride, width).at, held, width);
  std::memcpy(out + last * width, held, kLanes * width);
}

// Widths from 9 on: calls tile(j, i) for eight planes from j on and one vector of elements from i
// on.  The last ones may overlap what was done before.
template <class Tile>
void for_each_tile(std::size_t width, std::size_t size, const Tile& tile) {
  for (std::size_t run = 0; run < size; run += kRun) {
    const std::size_t end = size - run < kRun ? size : run + kRun;
    for (std::size_t j = 0; j < width; j += kGroup) {
      const std::size_t first = width - j < kGroup ? width - kGroup : j;
      for (std::size_t at = run; at < end; at += kLanes) {
        tile(first, size - at < kLanes ? size - kLanes : at);
      }
    }
  }
}

void unshuffle_wide(std::size_t width, const ByteRows& rows, std::byte* out, std::size_t pitch) {
  const auto [data, stride, size] = rows;
  for_each_tile(width, size, [=](std::size_t j, std::size_t i) {
    join_rows(group_planes(data + j * stride + i, stride, kGroup).at, out + i * pitch + j, pitch);
  });
}

// Widths 5..7, and narrow elements that lie apart: the loop reads eight bytes of each element, at
// most seven too many.  The last elements are therefore copied to a buffer with room after them.
void shuffle_narrow(std::size_t width, const std::byte* in, std::size_t pitch,
                    const WritableByteRows& planes) {
  const std::size_t reach = (kGroup - width + pitch - 1) / pitch;  // elements
  const auto [data, stride, size] = planes;
  std::size_t i = 0;
  for (; size - i >= kLanes + reach; i += kLanes) {
    deal_rows(in + i * pitch, pitch, width, data + i, stride);
  }
  std::byte last[kLanes * kGroup] = {};
  for (; i < size; i += kLanes) {
    const std::size_t at = size - i < kLanes ? size - kLanes : i;
    for (std::size_t k = 0; k < kLanes; ++k) {
      std::memcpy(last + k * kGroup, in + (at + k) * pitch, width);
    }
    deal_rows(last, kGroup, width, data + at, stride);
  }
}

// The inverse of unshuffle_wide().
void shuffle_wide(std::size_t width, const std::byte* in, std::size_t pitch,
                  const WritableByteRows& planes) {
  const auto [data, stride, size] = planes;
  for_each_tile(width, size, [=](std::size_t j, std::size_t i) {
    deal_rows(in + i * pitch + j, pitch, kGroup, data + j * stride + i, stride);
  });
}

}  // namespace

void unshuffle_neon(std::size_t width, const ByteRows& planes, std::byte* out, std::size_t pitch) {
  if (planes.size < kLanes || width == 1) return unshuffle_scalar(width, planes, out, pitch);
  switch (width) {
    case 2:
      return unshuffle_tiles<2, join2>(planes, out);
    case 3:
      return unshuffle_tiles<3, join3>(planes, out);
    case 4:
      return unshuffle_tiles<4, join4>(planes, out);
    case 8:
      return unshuffle_tiles<8, join8>(planes, out);
    default:
      if (width < kGroup) return unshuffle_narrow(width, planes, out);
      return unshuffle_wide(width, planes, out, pitch);
  }
}

void shuffle_neon(std::size_t width, const std::byte* in, std::size_t pitch,
                  const WritableByteRows& planes) {
  if (planes.size < kLanes || width == 1) return shuffle_scalar(width, in, pitch, planes);
  if (width > kGroup) return shuffle_wide(width, in, pitch, planes);
  if (pitch == width) {
    if (width == 2) return shuffle_tiles<2, deal2>(in, planes);
    if (width == 3) return shuffle_tiles<3, deal3>(in, planes);
    if (width == 4) return shuffle_tiles<4, deal4>(in, planes);
    if (width == 8) return shuffle_tiles<8, deal8_tile>(in, planes);
  }
  shuffle_narrow(width, in, pitch, planes);
}

}  // namespace framefs::codec
