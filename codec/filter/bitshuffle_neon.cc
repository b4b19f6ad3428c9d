#include <cstring>

#include "codec/filter/kernel_functions.h"
#include "codec/filter/vectors_neon.h"

namespace framefs::codec {
namespace {

inline void join_tile(const std::byte* rows, std::size_t stride, std::byte* out) {
  uint8x16_t v[8];
#pragma GCC unroll 8
  for (std::size_t b = 0; b < 8; ++b) v[b] = load(rows + b * stride);
  transpose_bits(v);
  // Row i now holds element i of every column.  A byte shuffle of width 8 remains.
  interleave8(v);
#pragma GCC unroll 8
  for (std::size_t k = 0; k < 8; ++k) store(out + k * kLanes, v[k]);
}

// For fewer columns than a tile: works on copies, whose unused bytes are ignored.
void join_partial_tile(const ByteRows& rows, std::byte* out) {
  std::byte in[8 * kLanes] = {};
  std::byte plane[8 * kLanes];
  for (std::size_t b = 0; b < 8; ++b) {
    std::memcpy(in + b * kLanes, rows.data + b * rows.stride, rows.size);
  }
  join_tile(in, kLanes, plane);
  std::memcpy(out, plane, 8 * rows.size);
}

// The inverse of join_tile().
inline void split_tile(const std::byte* plane, std::byte* rows, std::size_t stride) {
  uint8x16_t v[8];
#pragma GCC unroll 8
  for (std::size_t k = 0; k < 8; ++k) v[k] = load(plane + k * kLanes);
  deal8(v);
  transpose_bits(v);
#pragma GCC unroll 8
  for (std::size_t b = 0; b < 8; ++b) store(rows + b * stride, v[b]);
}

void split_partial_tile(const std::byte* plane, const WritableByteRows& rows) {
  std::byte in[8 * kLanes] = {};
  std::byte out[8 * kLanes];
  std::memcpy(in, plane, 8 * rows.size);
  split_tile(in, out, kLanes);
  for (std::size_t b = 0; b < 8; ++b) {
    std::memcpy(rows.data + b * rows.stride, out + b * kLanes, rows.size);
  }
}

}  // namespace

void bit_rows_neon(const ByteRows& rows, std::byte* out) {
  if (rows.size < kLanes) return join_partial_tile(rows, out);
  // Copies: written bytes might alias the members behind the reference.
  const auto [data, stride, size] = rows;
  std::size_t column = 0;
  for (; kLanes <= size - column; column += kLanes) {
    join_tile(data + column, stride, out + 8 * column);
  }
  if (column < size) join_tile(data + size - kLanes, stride, out + 8 * (size - kLanes));
}

void split_bits_neon(const std::byte* plane, const WritableByteRows& rows) {
  if (rows.size < kLanes) return split_partial_tile(plane, rows);
  const auto [data, stride, size] = rows;
  std::size_t column = 0;
  for (; kLanes <= size - column; column += kLanes) {
    split_tile(plane + 8 * column, data + column, stride);
  }
  if (column < size) split_tile(plane + 8 * (size - kLanes), data + size - kLanes, stride);
}

}  // namespace framefs::codec
