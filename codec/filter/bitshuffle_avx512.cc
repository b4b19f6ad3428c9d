// Compiled for AVX-512 (F, BW, VL, VBMI) and GFNI; see the note in kernel_functions.h.
#include <immintrin.h>

#include "codec/filter/kernel_functions.h"
#include "codec/filter/vectors_avx512.h"

namespace framefs::codec {
namespace {

constexpr std::size_t kColumns = 16;  // of a tile: a quarter vector of every row

// Four rows' bytes, loaded sixteen of each, become one 4-byte group per column: lane l holds
// columns 2l, 2l + 1, 8 + 2l, 9 + 2l, so that interleaving with the other four rows gives columns
// in order.
struct Quads {
  unsigned char from[kVector];
  constexpr Quads() : from{} {
    for (std::size_t k = 0; k < kVector; ++k) {
      const std::size_t group = k % 16 / 4;
      const std::size_t column = k / 16 * 2 + group / 2 * 8 + group % 2;
      from[k] = static_cast<unsigned char>(k % 4 * 16 + column);
    }
  }
};
constexpr Quads kQuads;

// Transposes the 8 x 8 bits of every quadword, given with its bytes in reverse, as
// bitshuffle_gfni.cc does.
inline __m512i transpose_bits(__m512i reversed) {
  const __m512i units = _mm512_set1_epi64(static_cast<long long>(0x8040201008040201ULL));
  return _mm512_gf2p8affine_epi64_epi8(units, reversed, 0);
}

inline void tile(const std::byte* row, std::size_t stride, __m512i quads, std::byte* out) {
  const std::byte* middle = row + 4 * stride;
  const __m512i last_rows =
      permute(quads, load_four(middle + 3 * stride, middle + 2 * stride, middle + stride, middle));
  const __m512i first_rows =
      permute(quads, load_four(row + 3 * stride, row + 2 * stride, row + stride, row));
  _mm512_storeu_si512(out, transpose_bits(unpack_low32(last_rows, first_rows)));
  _mm512_storeu_si512(out + kVector, transpose_bits(unpack_high32(last_rows, first_rows)));
}

}  // namespace

void bit_rows_avx512(const ByteRows& rows, std::byte* out) {
  if (rows.size < kColumns) return bit_rows_gfni(rows, out);
  const __m512i quads = _mm512_loadu_si512(kQuads.from);
  std::size_t column = 0;
  for (; kColumns <= rows.size - column; column += kColumns) {
    tile(rows.data + column, rows.stride, quads, out + 8 * column);
  }
  if (column < rows.size) {
    column = rows.size - kColumns;
    tile(rows.data + column, rows.stride, quads, out + 8 * column);
  }
}

}  // namespace framefs::codec
