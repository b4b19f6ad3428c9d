// Compiled with -mavx2; see the note in kernel_functions.h.
#include <immintrin.h>

#include <cstring>

#include "codec/filter/kernel_functions.h"
#include "codec/filter/vectors_avx2.h"

namespace framefs::codec {
namespace {

constexpr std::size_t kColumns = 32;  // of a tile

// Swaps, in every byte, the bits of `low` that are `mask` << kShift with the bits `mask` of `high`.
template <int kShift>
inline void swap_bits(__m256i& low, __m256i& high, __m256i mask) {
  const __m256i t = _mm256_and_si256(_mm256_xor_si256(_mm256_srli_epi16(low, kShift), high), mask);
  high = _mm256_xor_si256(high, t);
  low = _mm256_xor_si256(low, _mm256_slli_epi16(t, kShift));
}

// Transposes 8 x 8 bits at every byte position: row b's bit i becomes row i's bit b.
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

inline void tile(const std::byte* rows, std::size_t stride, std::byte* out) {
  __m256i v[8];
#pragma GCC unroll 8
  for (std::size_t b = 0; b < 8; ++b) v[b] = load(rows + b * stride);
  transpose_bits(v);
  // Row i now holds element i of every column: what is left is a byte shuffle of width 8.
  interleave8(v);
  store_lanes<8>(v, out);
}

// Fewer columns than a tile has: through copies, the rest of which is never used.
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

void bit_rows_avx2(const ByteRows& rows, std::byte* out) {
  if (rows.size < kColumns) return partial_tile(rows, out);
  // Copies, as bytes written might alias what the reference refers to.
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
