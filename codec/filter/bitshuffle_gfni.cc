// Compiled with -mavx2 -mgfni; see the note in kernel_functions.h.
#include <immintrin.h>

#include <cstring>

#include "codec/filter/kernel_functions.h"
#include "codec/filter/vectors_avx2.h"

namespace framefs::codec {
namespace {

constexpr std::size_t kColumns = 32;  // of a tile

// Transposes the 8 x 8 bits of every quadword, whose bytes must be in reverse order.  The
// instruction multiplies each byte of its first operand, a vector over GF(2), by the matrix in the
// quadword of the second operand, whose top row is the last byte.  The unit vectors select the
// matrix's columns.
inline __m256i transpose_bits(__m256i reversed) {
  const __m256i units = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ULL));
  return _mm256_gf2p8affine_epi64_epi8(units, reversed, 0);
}

inline void tile(const std::byte* rows, std::size_t stride, std::byte* out) {
  __m256i v[8];
#pragma GCC unroll 8
  for (std::size_t b = 0; b < 8; ++b) v[b] = load(rows + (7 - b) * stride);
  interleave8(v);
#pragma GCC unroll 8
  for (std::size_t k = 0; k < 8; ++k) v[k] = transpose_bits(v[k]);
  store_lanes<8>(v, out);
}

// For fewer columns than a tile: works on copies, whose unused bytes are ignored.
void partial_tile(const ByteRows& rows, std::byte* out) {
  std::byte in[8 * kColumns];
  std::byte plane[8 * kColumns];
  for (std::size_t b = 0; b < 8; ++b) {
    std::memcpy(in + b * kColumns, rows.data + b * rows.stride, rows.size);
  }
  tile(in, kColumns, plane);
  std::memcpy(out, plane, 8 * rows.size);
}

}  // namespace

void bit_rows_gfni(const ByteRows& rows, std::byte* out) {
  if (rows.size < kColumns) return partial_tile(rows, out);
  // Copies: written bytes might alias the members behind the reference.
  const auto [data, stride, size] = rows;
  std::size_t column = 0;
  for (; kColumns <= size - column; column += kColumns) {
    tile(data + column, stride, out + 8 * column);
  }
  if (column < size) {
    column = size - kColumns;
    tile(data + column, stride, out + 8 * column);
  }
}

}  // namespace framefs::codec
