#pragma once

// Included by the files that are compiled for one instruction set: nothing here may instantiate or
// inline library code, or the linker could give every caller a copy with instructions its CPU
// lacks.
#include <cstddef>

namespace framefs::codec {

// Rows of bytes at equal distances: the byte planes of a shuffled block, or the bit rows of a
// bitshuffled one.  Row r is `size` bytes from `data + r * stride` on.
struct ByteRows {
  const std::byte* data;
  std::size_t stride;
  std::size_t size;
};

// The same to be written.
struct WritableByteRows {
  std::byte* data;
  std::size_t stride;
  std::size_t size;
};

// From this width on an UnshuffleKernel may be given a pitch above the width.
inline constexpr std::size_t kWidePlanes = 32;

// Interleaves `width` planes: out[i * pitch + j] = plane j, byte i.  Writes these bytes only.
// `width` > 0; `pitch` == `width`, or more where width >= kWidePlanes.
using UnshuffleKernel = void (*)(std::size_t width, const ByteRows& planes, std::byte* out,
                                 std::size_t pitch);

// Turns eight bit rows into one byte plane of 8 * rows.size bytes: bit b of out[8 * c + i] is bit i
// of row b, byte c.
using BitRowsKernel = void (*)(const ByteRows& rows, std::byte* out);

// What UnshuffleKernel undoes: plane j, byte i = in[i * pitch + j].  Reads these bytes only.
// `width` > 0; `pitch` >= `width`.
using ShuffleKernel = void (*)(std::size_t width, const std::byte* in, std::size_t pitch,
                               const WritableByteRows& planes);

// What BitRowsKernel undoes: splits a byte plane of 8 * rows.size bytes into its bit rows.
using SplitBitsKernel = void (*)(const std::byte* plane, const WritableByteRows& rows);

// Makes each byte the sum of all up to itself.
using PrefixSumKernel = void (*)(std::byte* data, std::size_t size);

void unshuffle_scalar(std::size_t width, const ByteRows& planes, std::byte* out, std::size_t pitch);
void bit_rows_scalar(const ByteRows& rows, std::byte* out);
void shuffle_scalar(std::size_t width, const std::byte* in, std::size_t pitch,
                    const WritableByteRows& planes);
void split_bits_scalar(const std::byte* plane, const WritableByteRows& rows);
void prefix_sum_scalar(std::byte* data, std::size_t size);

// Built for x86-64 only; to be called where kernels_x86.cc found the instructions present.
void unshuffle_avx2(std::size_t width, const ByteRows& planes, std::byte* out, std::size_t pitch);
void unshuffle_avx512(std::size_t width, const ByteRows& planes, std::byte* out, std::size_t pitch);
void bit_rows_avx2(const ByteRows& rows, std::byte* out);
void bit_rows_gfni(const ByteRows& rows, std::byte* out);
void shuffle_avx2(std::size_t width, const std::byte* in, std::size_t pitch,
                  const WritableByteRows& planes);
void split_bits_avx2(const std::byte* plane, const WritableByteRows& rows);
void prefix_sum_avx2(std::byte* data, std::size_t size);

}  // namespace framefs::codec
