#include "codec/filter/bitshuffle.h"

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "codec/core/word.h"
#include "codec/filter/bitshuffle_impl.h"

namespace framefs::codec {
namespace {

// Size of the buffer that holds byte planes before they are interleaved.  It fits in the
// first-level cache together with input and output.
constexpr std::size_t kPlaneBytes = 16384;
// Columns of the bit rows are processed in multiples of this; it suits vectors of up to 32 bytes.
constexpr std::size_t kColumns = 32;
static_assert(kPlaneBytes >= 8 * kWidePlanes * kColumns);

// Transposes 8 x 8 bits, where byte b is row b, by swapping bits across the diagonal in blocks of
// 1, 2 and 4.
std::uint64_t transpose_bits(std::uint64_t x) {
  std::uint64_t t = (x ^ (x >> 7)) & 0x00aa00aa00aa00aa;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000cccc0000cccc;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000f0f0f0f0;
  return x ^ t ^ (t << 28);
}

// The number of columns of `width` planes that fit in the buffer.
std::size_t columns_of_run(std::size_t width) {
  return kPlaneBytes / (8 * width) / kColumns * kColumns;
}

// Makes `width` planes from 8 * width bit rows and interleaves them, one run of columns at a time.
void bitunshuffle_planes(const FilterKernels& kernels, std::size_t width, const ByteRows& rows,
                         std::byte* out, std::size_t pitch) {
  alignas(64) std::byte planes[kPlaneBytes];
  const std::size_t run = columns_of_run(width);
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

// The inverse: splits the elements into planes, and the planes into bit rows.
void bitshuffle_planes(const FilterKernels& kernels, std::size_t width, const std::byte* in,
                       std::size_t pitch, const WritableByteRows& rows) {
  alignas(64) std::byte planes[kPlaneBytes];
  const std::size_t run = columns_of_run(width);
  for (std::size_t column = 0; column < rows.size; column += run) {
    const std::size_t columns = std::min(run, rows.size - column);
    const std::size_t elements = 8 * columns;
    kernels.shuffle(width, in + 8 * column * pitch, pitch, {planes, elements, elements});
    for (std::size_t j = 0; j < width; ++j) {
      kernels.split_bits(planes + j * elements,
                         {rows.data + 8 * j * rows.stride + column, rows.stride, columns});
    }
  }
}

// Calls pass(first, width) for the planes of an element, kWidePlanes at a time.  If the typesize is
// not a multiple of kWidePlanes, the last call overlaps the one before.
template <class Pass>
void for_plane_groups(std::size_t typesize, const Pass& pass) {
  const std::size_t width = std::min(typesize, kWidePlanes);
  for (std::size_t j = 0; j < typesize; j += width) pass(std::min(j, typesize - width), width);
}

// Decodes eight elements of each column.
void bitunshuffle_elements(const FilterKernels& kernels, std::size_t typesize, const std::byte* in,
                           std::size_t columns, std::byte* out) {
  if (typesize == 1) return kernels.bit_rows({in, columns, columns}, out);
  for_plane_groups(typesize, [&](std::size_t first, std::size_t width) {
    bitunshuffle_planes(kernels, width, {in + 8 * first * columns, columns, columns}, out + first,
                        typesize);
  });
}

void bitshuffle_elements(const FilterKernels& kernels, std::size_t typesize, const std::byte* in,
                         std::size_t columns, std::byte* out) {
  if (typesize == 1) return kernels.split_bits(in, {out, columns, columns});
  for_plane_groups(typesize, [&](std::size_t first, std::size_t width) {
    bitshuffle_planes(kernels, width, in + first, typesize,
                      {out + 8 * first * columns, columns, columns});
  });
}

}  // namespace

void bit_rows_scalar(const ByteRows& rows, std::byte* out) {
  // Copies: written bytes might alias the members behind the reference.
  const auto [data, stride, columns] = rows;
  for (std::size_t c = 0; c < columns; ++c) {
    std::uint64_t bits = 0;
    for (std::size_t b = 0; b < 8; ++b) {
      bits |= std::to_integer<std::uint64_t>(data[b * stride + c]) << (8 * b);
    }
    store_word(out + 8 * c, transpose_bits(bits));
  }
}

void split_bits_scalar(const std::byte* plane, const WritableByteRows& rows) {
  const auto [data, stride, columns] = rows;
  for (std::size_t c = 0; c < columns; ++c) {
    const std::uint64_t bits = transpose_bits(load_word(plane + 8 * c));
    for (std::size_t b = 0; b < 8; ++b) {
      data[b * stride + c] = static_cast<std::byte>(bits >> (8 * b));
    }
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

void bitshuffle_with(const FilterKernels& kernels, std::size_t typesize,
                     std::span<const std::byte> in, std::span<std::byte> out) {
  assert(typesize > 0 && in.size() == out.size());
  const std::size_t columns = in.size() / typesize / 8;
  if (columns > 0) bitshuffle_elements(kernels, typesize, in.data(), columns, out.data());
  const std::size_t done = 8 * columns * typesize;
  std::copy_n(in.data() + done, in.size() - done, out.data() + done);
}

void bitshuffle(std::size_t typesize, std::span<const std::byte> in, std::span<std::byte> out) {
  bitshuffle_with(usable_kernels().back(), typesize, in, out);
}

}  // namespace framefs::codec
