#include "tests/support/zfp_encoder.h"

#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <zfp.h>

#include "codec/core/word.h"

namespace framefs::test {
namespace {

using Field = std::unique_ptr<zfp_field, void (*)(zfp_field*)>;

Field field_of(std::span<const std::uint32_t> shape, zfp_type type, void* data) {
  switch (shape.size()) {
    case 1:
      return {zfp_field_1d(data, type, shape[0]), zfp_field_free};
    case 2:
      return {zfp_field_2d(data, type, shape[1], shape[0]), zfp_field_free};
    case 3:
      return {zfp_field_3d(data, type, shape[2], shape[1], shape[0]), zfp_field_free};
    case 4:
      return {zfp_field_4d(data, type, shape[3], shape[2], shape[1], shape[0]), zfp_field_free};
    default:
      std::fprintf(stderr, "zfp_encoder: %zu dimensions\n", shape.size());
      std::abort();
  }
}

void set_mode(zfp_stream* zfp, std::uint8_t codec_id, std::uint8_t codec_meta, unsigned ndim,
              zfp_type type) {
  constexpr unsigned kMorePrecision[] = {0, 5, 7, 9, 11};
  const double bits_of_number = type == zfp_type_float ? 32 : 64;
  switch (codec_id) {
    case 33:
      zfp_stream_set_accuracy(zfp, std::pow(10.0, static_cast<std::int8_t>(codec_meta)));
      return;
    case 34:
      zfp_stream_set_precision(zfp, codec_meta + kMorePrecision[ndim]);
      return;
    default:
      zfp_stream_set_rate(zfp, codec_meta / 100.0 * bits_of_number, type, ndim, zfp_false);
  }
}

}  // namespace

ZfpStream encode_zfp(std::uint8_t codec_id, std::uint8_t codec_meta,
                     std::span<const std::uint32_t> shape, std::size_t typesize,
                     std::span<const std::byte> numbers) {
  const auto type = typesize == 4 ? zfp_type_float : zfp_type_double;
  ZfpStream result;
  result.decoded.assign(numbers.begin(), numbers.end());
  codec::swap_on_big_endian(result.decoded, typesize);
  const auto field = field_of(shape, type, result.decoded.data());
  const std::unique_ptr<zfp_stream, void (*)(zfp_stream*)> zfp(zfp_stream_open(nullptr),
                                                               zfp_stream_close);
  set_mode(zfp.get(), codec_id, codec_meta, static_cast<unsigned>(shape.size()), type);
  result.bytes.resize(zfp_stream_maximum_size(zfp.get(), field.get()));
  const std::unique_ptr<bitstream, void (*)(bitstream*)> bits(
      stream_open(result.bytes.data(), result.bytes.size()), stream_close);
  zfp_stream_set_bit_stream(zfp.get(), bits.get());
  zfp_stream_rewind(zfp.get());
  const std::size_t size = zfp_compress(zfp.get(), field.get());
  zfp_stream_rewind(zfp.get());
  if (size == 0 || zfp_decompress(zfp.get(), field.get()) == 0) {
    std::fprintf(stderr, "zfp_encoder: refused\n");
    std::abort();
  }
  result.bytes.resize(size);
  codec::swap_on_big_endian(result.bytes, stream_word_bits / CHAR_BIT);
  codec::swap_on_big_endian(result.decoded, typesize);
  return result;
}

}  // namespace framefs::test
