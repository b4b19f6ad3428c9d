#include "codec/compressor/zfp.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cmath>
#include <memory>

#include <zfp.h>

#include "codec/core/checked.h"
#include "codec/core/word.h"

namespace framefs::codec {
namespace {

constexpr std::size_t kCellSide = 4;  // values are coded in cells of 4, 4x4, ...

struct CloseZfp {
  void operator()(zfp_stream* zfp) const noexcept { zfp_stream_close(zfp); }
};
struct CloseBits {
  void operator()(bitstream* bits) const noexcept { stream_close(bits); }
};

std::unexpected<Error> out_of_memory() {
  return std::unexpected(Error{.kind = Errc::system, .field = "zfp decoder", .sys = ENOMEM});
}

// Source: chunk format, "Plugin codecs"; blosc2-zfp.c.
void set_mode(zfp_stream* zfp, const ZfpFormat& format) {
  const unsigned ndim = format.block_shape.ndim;
  switch (format.mode) {
    case ZfpMode::accuracy:
      zfp_stream_set_accuracy(zfp, std::pow(10.0, static_cast<std::int8_t>(format.parameter)));
      return;
    case ZfpMode::precision:
      // The library limits this to the precision it supports.
      zfp_stream_set_precision(zfp, format.parameter + 3 + 2 * ndim);
      return;
    case ZfpMode::rate: {
      const double bits = format.parameter / 100.0 * format.typesize * CHAR_BIT;
      const auto type = format.typesize == sizeof(float) ? zfp_type_float : zfp_type_double;
      zfp_stream_set_rate(zfp, bits, type, ndim, zfp_false);
      return;
    }
  }
}

// Extents and strides of a block or of one of its cells, in the library's order: the fastest
// varying dimension first.  Extents beyond the last dimension are 1.
struct Extents {
  std::array<std::size_t, kMaxZfpDims> n{1, 1, 1, 1};
  std::array<std::ptrdiff_t, kMaxZfpDims> stride{};
};

Extents extents_of(const BlockShape& shape) {
  Extents extents;
  std::ranges::reverse_copy(shape.used_dims(), extents.n.begin());
  std::ptrdiff_t stride = 1;
  for (std::size_t i = 0; i < kMaxZfpDims; ++i) {
    extents.stride[i] = stride;
    stride *= static_cast<std::ptrdiff_t>(extents.n[i]);
  }
  return extents;
}

// Calls the library's function for one cell, which may be clipped at the block's far edges.
std::size_t decode_cell(zfp_stream* zfp, float* to, unsigned ndim, const Extents& cell) {
  const auto& [n, s] = cell;
  switch (ndim) {
    case 1:
      return zfp_decode_partial_block_strided_float_1(zfp, to, n[0], s[0]);
    case 2:
      return zfp_decode_partial_block_strided_float_2(zfp, to, n[0], n[1], s[0], s[1]);
    case 3:
      return zfp_decode_partial_block_strided_float_3(zfp, to, n[0], n[1], n[2], s[0], s[1], s[2]);
    default:
      return zfp_decode_partial_block_strided_float_4(zfp, to, n[0], n[1], n[2], n[3], s[0], s[1],
                                                      s[2], s[3]);
  }
}

std::size_t decode_cell(zfp_stream* zfp, double* to, unsigned ndim, const Extents& cell) {
  const auto& [n, s] = cell;
  switch (ndim) {
    case 1:
      return zfp_decode_partial_block_strided_double_1(zfp, to, n[0], s[0]);
    case 2:
      return zfp_decode_partial_block_strided_double_2(zfp, to, n[0], n[1], s[0], s[1]);
    case 3:
      return zfp_decode_partial_block_strided_double_3(zfp, to, n[0], n[1], n[2], s[0], s[1], s[2]);
    default:
      return zfp_decode_partial_block_strided_double_4(zfp, to, n[0], n[1], n[2], n[3], s[0], s[1],
                                                       s[2], s[3]);
  }
}

using Place = std::array<std::size_t, kMaxZfpDims>;  // of a cell in its block

// Moves to the next cell, in the order in which cells are coded.  Returns false after the last one.
bool next_cell(const Extents& block, Place& at) {
  for (std::size_t i = 0; i < kMaxZfpDims; ++i) {
    at[i] += kCellSide;
    if (at[i] < block.n[i]) return true;
    at[i] = 0;
  }
  return false;
}

// Decodes all cells of a block.  Unlike the library's own loop, this one stops at the end of the
// stream.
template <class Number>
Status decode_cells(zfp_stream* zfp, std::uint64_t stream_bits, unsigned ndim, const Extents& block,
                    Number* out) {
  std::uint64_t bits = 0;
  Extents cell = block;
  Place at{};
  do {
    std::ptrdiff_t offset = 0;
    for (std::size_t i = 0; i < kMaxZfpDims; ++i) {
      cell.n[i] = std::min(kCellSide, block.n[i] - at[i]);
      offset += static_cast<std::ptrdiff_t>(at[i]) * block.stride[i];
    }
    bits += decode_cell(zfp, out + offset, ndim, cell);
    if (bits > stream_bits) return fail(Errc::truncated, "zfp stream", stream_bits / CHAR_BIT);
  } while (next_cell(block, at));
  return {};
}

bool is_decodable(const ZfpFormat& format) {
  return (format.typesize == sizeof(float) || format.typesize == sizeof(double)) &&
         format.block_shape.ndim >= 1 && format.block_shape.ndim <= kMaxZfpDims;
}

bool is_aligned(const std::byte* at, std::size_t to) {
  return reinterpret_cast<std::uintptr_t>(at) % to == 0;  // uses only the address
}

}  // namespace

bool has_zfp() noexcept { return true; }

const char* zfp_version() noexcept { return ZFP_VERSION_STRING; }

Status decode_zfp(const ZfpFormat& format, std::span<const std::byte> in, std::span<std::byte> out,
                  Scratch& scratch) {
  if (!is_decodable(format)) return fail(Errc::bad_field, "zfp format");
  if (out.empty() || block_bytes(format.block_shape, format.typesize) != out.size()) {
    return fail_value(Errc::bad_field, "zfp decoded size", 0,
                      static_cast<std::int64_t>(out.size()));
  }
  const std::unique_ptr<zfp_stream, CloseZfp> zfp(zfp_stream_open(nullptr));
  if (!zfp) return out_of_memory();
  set_mode(zfp.get(), format);

  // The library reads words of 8 bytes and does not check the end of its stream.  It therefore gets
  // a copy of the stream, followed by zeros for one cell.  A cell takes at most `most_bits`, and
  // skipping to its end may read one more word.  The number of bits read then shows whether it
  // exceeded the stream.
  unsigned most_bits = 0;
  zfp_stream_params(zfp.get(), nullptr, &most_bits, nullptr, nullptr);
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const std::size_t padding = std::max<std::size_t>(most_bits, ZFP_MAX_BITS) / CHAR_BIT + 2 * kWord;
  const std::size_t padded_bytes = div_ceil(in.size() + padding, kWord) * kWord;
  const auto memory =
      scratch.take(padded_bytes + (is_aligned(out.data(), format.typesize) ? 0 : out.size()));
  std::ranges::copy(in, memory.begin());
  std::ranges::fill(memory.subspan(in.size(), padded_bytes - in.size()), std::byte{0});
  // The library has words and numbers in the order of the machine.  Where that is big-endian,
  // Debian builds it with words of one byte.
  swap_on_big_endian(memory.first(padded_bytes), stream_word_bits / CHAR_BIT);
  const std::unique_ptr<bitstream, CloseBits> bits(stream_open(memory.data(), padded_bytes));
  if (!bits) return out_of_memory();
  zfp_stream_set_bit_stream(zfp.get(), bits.get());
  zfp_stream_rewind(zfp.get());

  const auto extents = extents_of(format.block_shape);
  const unsigned ndim = format.block_shape.ndim;
  const std::uint64_t stream_bits = std::uint64_t{in.size()} * CHAR_BIT;
  // `out` need not be aligned for the values; the memory after the words is.
  const auto numbers = is_aligned(out.data(), format.typesize) ? out : memory.subspan(padded_bytes);
  void* const to = numbers.data();
  FRAMEFS_CHECK(
      format.typesize == sizeof(float)
          ? decode_cells(zfp.get(), stream_bits, ndim, extents, static_cast<float*>(to))
          : decode_cells(zfp.get(), stream_bits, ndim, extents, static_cast<double*>(to)));
  if (numbers.data() != out.data()) std::ranges::copy(numbers, out.begin());
  swap_on_big_endian(out, format.typesize);
  return {};
}

}  // namespace framefs::codec
