#include "codec/filter/bitshuffle.h"

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "codec/filter/bitshuffle_impl.h"
#include "codec/filter/word.h"

namespace framefs::codec {
namespace {

// The byte planes made from bit rows wait here to be interleaved; small enough for the first-level
// cache beside what is read and written.
constexpr std::size_t kPlaneBytes = 16384;
// Columns of the bit rows are taken in multiples of this, which suits vectors of up to 32 bytes.
constexpr std::size_t kColumns = 32;
static_assert(kPlaneBytes >= 8 * kWidePlanes * kColumns);

// Transposes 8 x 8 bits, byte b being row b: swaps bits across the diagonal in blocks of 1, 2
// and 4.
std::uint64_t transpose_bits(std::uint64_t x) {
  std::uint64_t t = (x ^ (x >> 7)) & 0x00aa00aa00aa00aa;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000cccc0000cccc;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000f0f0f0f0;
  return x ^ t ^ (t << 28);
}

// Makes `width` planes from 8 * width bit rows and interleaves them, a run of columns at a time.
void bitunshuffle_planes(const FilterKernels& kernels, std::size_t width, const ByteRows& rows,
                         std::byte* out, std::size_t pitch) {
  alignas(64) std::byte planes[kPlaneBytes];
  const std::size_t run = kPlaneBytes / (8 * width) / kColumns * kColumns;
  for (std::size_t column = 0; column < rows.size; column += run) {
    const std::size_t columns = std::min(run, rows.size - column);
    const std::size_t elements = 8 * columns;
    for (std::size_t j = 0; j < width; ++j) {
      kernels.bit_rows({rows.data + 8 * j * rows.stride + column, rows.stride, columns},
                       planes + j * elements);
    }
    kernels.unshuffle(width, {planes, elements, elements}, out + 8 * column * pitch, pitch);
  }
}

// Eight elements of each column.
void bitunshuffle_elements(const FilterKernels& kernels, std::size_t typesize, const std::byte* in,
                           std::size_t columns, std::byte* out) {
  if (typesize == 1) return kernels.bit_rows({in, columns, columns}, out);
  // Wide elements are done 32 planes at a time, the last 32 overlapping those before where the
  // typesize is no multiple.
  const std::size_t width = std::min(typesize, kWidePlanes);
  for (std::size_t j = 0; j < typesize; j += width) {
    const std::size_t first = std::min(j, typesize - width);
    bitunshuffle_planes(kernels, width, {in + 8 * first * columns, columns, columns}, out + first,
                        typesize);
  }
}

}  // namespace

void bit_rows_scalar(const ByteRows& rows, std::byte* out) {
  // Copies, as bytes written might alias what the reference refers to.
  const auto [data, stride, columns] = rows;
  for (std::size_t c = 0; c < columns; ++c) {
    std::uint64_t bits = 0;
    for (std::size_t b = 0; b < 8; ++b) {
      bits |= std::to_integer<std::uint64_t>(data[b * stride + c]) << (8 * b);
    }
    store_word(out + 8 * c, transpose_bits(bits));
  }
}

void bitunshuffle_with(const FilterKernels& kernels, std::size_t typesize,
                       std::span<const std::byte> in, std::span<std::byte> out,
                       BitshuffleTail tail) {
  assert(typesize > 0 && in.size() == out.size());
  const std::size_t whole = in.size() / typesize;
  const std::size_t columns =
      tail == BitshuffleTail::copy_whole_block && whole % 8 != 0 ? 0 : whole / 8;
  if (columns > 0) bitunshuffle_elements(kernels, typesize, in.data(), columns, out.data());
  const std::size_t done = 8 * columns * typesize;
  std::copy_n(in.data() + done, in.size() - done, out.data() + done);
}

void bitunshuffle(std::size_t typesize, std::span<const std::byte> in, std::span<std::byte> out,
                  BitshuffleTail tail) {
  bitunshuffle_with(usable_kernels().back(), typesize, in, out, tail);
}

}  // namespace framefs::codec
