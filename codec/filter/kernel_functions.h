#pragma once

// This header is included by files that are compiled for one instruction set.  It must not
// instantiate or inline library code: the linker could give every caller a copy with instructions
// that its CPU lacks.
#include <cstddef>

namespace framefs::codec {

// Rows of bytes at equal distances: the byte planes of a shuffled block, or the bit rows of a
// bitshuffled block.  Row r has `size` bytes, from `data + r * stride` on.
struct ByteRows {
  const std::byte* data;
  std::size_t stride;
  std::size_t size;
};

// The same for writing.
struct WritableByteRows {
  std::byte* data;
  std::size_t stride;
  std::size_t size;
};

// From this width on, the pitch of an UnshuffleKernel may exceed the width.
inline constexpr std::size_t kWidePlanes = 32;

// Interleaves `width` planes: out[i * pitch + j] = plane j, byte i.  Writes no other bytes.
// `width` > 0.  `pitch` == `width`, or more if width >= kWidePlanes.
using UnshuffleKernel = void (*)(std::size_t width, const ByteRows& planes, std::byte* out,
                                 std::size_t pitch);

// Converts eight bit rows to one byte plane of 8 * rows.size bytes: bit b of out[8 * c + i] is bit
// i of row b, byte c.
using BitRowsKernel = void (*)(const ByteRows& rows, std::byte* out);

// The inverse of UnshuffleKernel: plane j, byte i = in[i * pitch + j].  Reads no other bytes.
// `width` > 0; `pitch` >= `width`.
using ShuffleKernel = void (*)(std::size_t width, const std::byte* in, std::size_t pitch,
                               const WritableByteRows& planes);

// The inverse of BitRowsKernel: splits a byte plane of 8 * rows.size bytes into its bit rows.
using SplitBitsKernel = void (*)(const std::byte* plane, const WritableByteRows& rows);

// Replaces each byte with the sum of all bytes up to and including it.
using PrefixSumKernel = void (*)(std::byte* data, std::size_t size);

void unshuffle_scalar(std::size_t width, const ByteRows& planes, std::byte* out, std::size_t pitch);
void bit_rows_scalar(const ByteRows& rows, std::byte* out);
void shuffle_scalar(std::size_t width, const std::byte* in, std::size_t pitch,
                    const WritableByteRows& planes);
void split_bits_scalar(const std::byte* plane, const WritableByteRows& rows);
void prefix_sum_scalar(std::byte* data, std::size_t size);

// Built only for arm64.
void unshuffle_neon(std::size_t width, const ByteRows& planes, std::byte* out, std::size_t pitch);
void bit_rows_neon(const ByteRows& rows, std::byte* out);
void shuffle_neon(std::size_t width, const std::byte* in, std::size_t pitch,
                  const WritableByteRows& planes);
void split_bits_neon(const std::byte* plane, const WritableByteRows& rows);
void prefix_sum_neon(std::byte* data, std::size_t size);

// Built only for x86-64.  Callers must check that the CPU has the instructions: see kernels_x86.cc.
void unshuffle_avx2(std::size_t width, const ByteRows& planes, std::byte* out, std::size_t pitch);
void unshuffle_avx512(std::size_t width, const ByteRows& planes, std::byte* out, std::size_t pitch);
void bit_rows_avx2(const ByteRows& rows, std::byte* out);
void bit_rows_gfni(const ByteRows& rows, std::byte* out);
void shuffle_avx2(std::size_t width, const std::byte* in, std::size_t pitch,
                  const WritableByteRows& planes);
void split_bits_avx2(const std::byte* plane, const WritableByteRows& rows);
void prefix_sum_avx2(std::byte* data, std::size_t size);

}  // namespace framefs::codec
