// Compiled with -mavx2; see the note in kernel_functions.h.
#include <immintrin.h>

#include <cstring>

#include "codec/filter/kernel_functions.h"
#include "codec/filter/vectors_avx2.h"

namespace framefs::codec {
namespace {

constexpr std::size_t kColumns = 32;  // of a tile

inline void tile(const std::byte* rows, std::size_t stride, std::byte* out) {
  __m256i v[8];
#pragma GCC unroll 8
  for (std::size_t b = 0; b < 8; ++b) v[b] = load(rows + b * stride);
  transpose_bits(v);
  // Row i now holds element i of every column.  A byte shuffle of width 8 remains.
  interleave8(v);
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

// The inverse of tile().
inline void split_tile(const std::byte* plane, std::byte* rows, std::size_t stride) {
  __m256i v[8];
  deal8(plane, v);
  transpose_bits(v);
#pragma GCC unroll 8
  for (std::size_t b = 0; b < 8; ++b) store(rows + b * stride, v[b]);
}

void split_partial_tile(const std::byte* plane, const WritableByteRows& rows) {
  std::byte in[8 * kColumns] = {};
  std::byte out[8 * kColumns];
  std::memcpy(in, plane, 8 * rows.size);
  split_tile(in, out, kColumns);
  for (std::size_t b = 0; b < 8; ++b) {
    std::memcpy(rows.data + b * rows.stride, out + b * kColumns, rows.size);
  }
}

}  // namespace

void bit_rows_avx2(const ByteRows& rows, std::byte* out) {
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

void split_bits_avx2(const std::byte* plane, const WritableByteRows& rows) {
  if (rows.size < kColumns) return split_partial_tile(plane, rows);
  // Copies: written bytes might alias the members behind the reference.
  const auto [data, stride, size] = rows;
  std::size_t column = 0;
  for (; kColumns <= size - column; column += kColumns) {
    split_tile(plane + 8 * column, data + column, stride);
  }
  if (column < size) {
    column = size - kColumns;
    split_tile(plane + 8 * column, data + column, stride);
  }
}

}  // namespace framefs::codec
