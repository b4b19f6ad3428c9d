#include "codec/compressor/zfp.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "codec/chunk/chunk.h"
#include "codec/compressor/stream_format.h"
#include "codec/core/word.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/decode_oracle.h"
#include "tests/support/outcome.h"
#include "tests/support/random_seed.h"
#include "tests/support/sample_data.h"
#include "tests/support/zfp_encoder.h"
#include "tests/unit/codec/filter_checks.h"
#include "tests/unit/codec/stream_checks.h"

namespace framefs::codec::zfp_test {
namespace {

using test::Bytes;
using test::draw;
using test::outcome;
using Dims = std::vector<std::uint32_t>;

constexpr std::array kModes = {ZfpMode::accuracy, ZfpMode::precision, ZfpMode::rate};

ZfpFormat format_of(ZfpMode mode, std::uint8_t parameter, const Dims& dims,
                    std::uint32_t typesize) {
  ZfpFormat format{.mode = mode, .parameter = parameter, .typesize = typesize};
  format.block_shape.ndim = static_cast<std::uint8_t>(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) format.block_shape.dims.at(i) = dims[i];
  return format;
}

// The scratch memory holds the same old bytes as the output.
Decode with(const ZfpFormat& format) {
  return [format](std::span<const std::byte> in, std::span<std::byte> out) {
    constexpr std::size_t kOldBytes = 64u << 10;
    Scratch scratch;
    std::ranges::fill(scratch.take(kOldBytes), out.empty() ? std::byte{0} : out.front());
    return decode_zfp(format, in, out, scratch);
  };
}

template <class Number>
Bytes smooth_numbers(std::size_t count, std::mt19937& random) {
  Bytes out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<double>(i);
    const auto number = static_cast<Number>(100 * std::sin(at / 9) + draw(random) % 100 / 1000.0);
    test::append(out, std::as_bytes(std::span(&number, 1)));
  }
  swap_on_big_endian(out, sizeof(Number));
  return out;
}

Bytes numbers_of(const Dims& dims, std::uint32_t typesize, std::mt19937& random) {
  std::size_t count = 1;
  for (const auto dim : dims) count *= dim;
  return typesize == 4 ? smooth_numbers<float>(count, random)
                       : smooth_numbers<double>(count, random);
}

test::ZfpStream encoded(const ZfpFormat& format, std::span<const std::byte> numbers) {
  const auto id = static_cast<std::uint8_t>(kCodecZfpAccuracy + static_cast<int>(format.mode));
  return test::encode_zfp(id, format.parameter, format.block_shape.used_dims(), format.typesize,
                          numbers);
}

std::uint8_t parameter_of(ZfpMode mode, std::mt19937& random) {
  switch (mode) {
    case ZfpMode::accuracy:
      return static_cast<std::uint8_t>(draw(random) % 8 - 6);
    case ZfpMode::precision:
      return static_cast<std::uint8_t>(1 + draw(random) % 40);
    case ZfpMode::rate:
      break;
  }
  return static_cast<std::uint8_t>(1 + draw(random) % 99);
}

// Oracle: the library's result for the whole stream.
TEST_CASE("zfp: blocks of any shape decode as the library decodes them", "[codec][zfp][unit]") {
  CHECK(has_zfp());
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 400; ++round) {
    Dims dims(1 + draw(random) % 4);
    for (auto& dim : dims) dim = 1 + draw(random) % (dims.size() == 1 ? 400 : 11);
    const auto mode = kModes[draw(random) % kModes.size()];
    const std::uint32_t typesize = draw(random) % 2 == 0 ? 4 : 8;
    const auto format = format_of(mode, parameter_of(mode, random), dims, typesize);
    INFO("mode " << static_cast<int>(mode) << ", parameter " << int{format.parameter} << ", "
                 << dims.size() << " dimensions, typesize " << typesize);
    const Bytes numbers = numbers_of(dims, typesize, random);
    const auto stream = encoded(format, numbers);
    const auto decoded = decode_guarded(with(format), stream.bytes, numbers.size());
    REQUIRE(outcome(decoded) == "ok");
    REQUIRE_FALSE(first_difference(*decoded, stream.decoded));
  }
}

// Oracle: as above.
TEST_CASE("zfp: every parameter is taken as the library's plugin takes it", "[codec][zfp][unit]") {
  std::mt19937 random(2);
  const Dims dims = {7, 9};
  for (const auto mode : kModes) {
    for (unsigned parameter = 0; parameter < 256; ++parameter) {
      INFO("mode " << static_cast<int>(mode) << ", parameter " << parameter);
      const auto format = format_of(mode, static_cast<std::uint8_t>(parameter), dims, 8);
      const Bytes numbers = numbers_of(dims, 8, random);
      const auto stream = encoded(format, numbers);
      const auto decoded = decode_alone(with(format), stream.bytes, numbers.size());
      REQUIRE(outcome(decoded) == "ok");
      REQUIRE_FALSE(first_difference(*decoded, stream.decoded));
    }
  }
}

// Oracle: the numbers that went in, within the requested accuracy.
TEST_CASE("zfp: accuracy is a power of ten", "[codec][zfp][unit]") {
  std::mt19937 random(2);
  const Dims dims = {6, 9, 5};
  const Bytes numbers = numbers_of(dims, 8, random);
  for (const int exponent : {-6, -3, -1, 0}) {
    const auto format = format_of(ZfpMode::accuracy, static_cast<std::uint8_t>(exponent), dims, 8);
    const auto decoded = decode_alone(with(format), encoded(format, numbers).bytes, numbers.size());
    REQUIRE(decoded);
    for (std::size_t at = 0; at < numbers.size(); at += 8) {
      const auto in = std::bit_cast<double>(load_word(numbers.data() + at));
      const auto out = std::bit_cast<double>(load_word(decoded->data() + at));
      REQUIRE(std::abs(in - out) <= std::pow(10.0, exponent));
    }
  }
}

TEST_CASE("zfp: the output may stand anywhere in memory", "[codec][zfp][unit]") {
  std::mt19937 random(2);
  const Dims dims = {6, 9};
  for (const std::uint32_t typesize : {4U, 8U}) {
    const auto format = format_of(ZfpMode::rate, 40, dims, typesize);
    const Bytes numbers = numbers_of(dims, typesize, random);
    const auto stream = encoded(format, numbers);
    for (std::size_t shift = 0; shift < 9; ++shift) {
      Bytes room(numbers.size() + 9, std::byte{0x55});
      Scratch scratch;
      const auto out = std::span(room).subspan(shift, numbers.size());
      REQUIRE(decode_zfp(format, stream.bytes, out, scratch));
      CHECK_FALSE(first_difference(out, stream.decoded));
      CHECK(std::ranges::count(room, std::byte{0x55}) >= 9);
    }
  }
}

// Oracle: as above, for three blocks of one stream each.
TEST_CASE("zfp: chunks of an array come back", "[codec][chunk][zfp][unit]") {
  std::mt19937 random(2);
  const Dims dims = {6, 9};
  const auto format = format_of(ZfpMode::precision, 12, dims, 8);
  const std::size_t blocksize = std::size_t{6} * 9 * 8;
  Bytes data;
  Bytes expected;
  for (int block = 0; block < 3; ++block) {
    const Bytes numbers = numbers_of(dims, 8, random);
    test::append(data, numbers);
    test::append(expected, encoded(format, numbers).decoded);
  }
  test::ChunkSpec spec;
  spec.typesize = 8;
  spec.blocksize = static_cast<std::uint32_t>(blocksize);
  spec.plugin = {
      .id = kCodecZfpPrecision,
      .meta = format.parameter,
      .encode = [&](std::span<const std::byte> numbers) { return encoded(format, numbers).bytes; }};
  const Bytes bytes = test::build_chunk(data, spec);
  const MemorySource source(bytes);
  const ChunkContext context{.schunk_typesize = 8, .block_shape = format.block_shape};
  const auto chunk = Chunk::open(source, 0, bytes.size(), context, Limits{});
  REQUIRE(outcome(chunk) == "ok");
  CHECK(test::decode_whole(source, *chunk) == expected);
  CHECK(test::decode_by_blocks(source, *chunk) == expected);

  // Split into streams that are not blocks.
  spec.split = true;
  spec.plugin->encode = [](std::span<const std::byte>) { return Bytes(10); };
  const Bytes split = test::build_chunk(data, spec);
  const MemorySource split_source(split);
  const auto other = Chunk::open(split_source, 0, split.size(), context, Limits{});
  REQUIRE(outcome(other) == "ok");
  CHECK(
      outcome(test::decode_whole(split_source, *other)).starts_with("bad field: zfp decoded size"));
}

// Oracle: the library pads streams to words of 8 bytes.  Bytes of the last word may be missing; a
// stream that is accepted without them decodes to the same numbers.
TEST_CASE("zfp: a stream that ends early is refused", "[codec][zfp][corrupt]") {
  std::mt19937 random(11);
  for (const auto mode : kModes) {
    for (const std::size_t ndim : {1U, 2U, 3U, 4U}) {
      const Dims dims(ndim, ndim == 1 ? 60 : 8 - static_cast<std::uint32_t>(ndim));
      const std::uint32_t typesize = ndim % 2 == 0 ? 4 : 8;
      const auto format = format_of(mode, mode == ZfpMode::accuracy ? 253 : 20, dims, typesize);
      const Bytes numbers = numbers_of(dims, typesize, random);
      const auto stream = encoded(format, numbers);
      INFO("mode " << static_cast<int>(mode) << ", " << ndim << " dimensions");
      for (std::size_t n = 0; n < stream.bytes.size(); ++n) {
        INFO("prefix of " << n << " bytes of " << stream.bytes.size());
        const auto decoded =
            decode_guarded(with(format), std::span(stream.bytes).first(n), numbers.size());
        if (decoded) {
          REQUIRE(stream.bytes.size() - n < 8);
          REQUIRE_FALSE(first_difference(*decoded, stream.decoded));
        } else {
          REQUIRE(decoded.error().kind == Errc::truncated);
          REQUIRE(decoded.error().at <= n);
        }
      }
    }
  }
}

TEST_CASE("zfp: whatever bit is flipped, bytes depend on the stream alone",
          "[codec][zfp][corrupt]") {
  std::mt19937 random(12);
  for (const auto mode : kModes) {
    const Dims dims = {5, 6, 4};
    const auto format = format_of(mode, mode == ZfpMode::accuracy ? 253 : 15, dims, 4);
    const Bytes numbers = numbers_of(dims, 4, random);
    check_bit_flips(with(format), encoded(format, numbers).bytes, numbers.size());
  }
}

// Oracle: the address sanitizer, and two equal results.
TEST_CASE("zfp: noise decodes or is refused", "[codec][zfp][corrupt]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 400; ++round) {
    Dims dims(1 + draw(random) % 4);
    for (auto& dim : dims) dim = 1 + draw(random) % 6;
    const std::uint32_t typesize = draw(random) % 2 == 0 ? 4 : 8;
    const auto format =
        format_of(kModes[draw(random) % 3], static_cast<std::uint8_t>(random()), dims, typesize);
    std::size_t size = typesize;
    for (const auto dim : dims) size *= dim;
    const Bytes stream = test::noise(draw(random) % 300, draw(random));
    const auto decoded = decode_guarded(with(format), stream, size);
    if (!decoded) REQUIRE(decoded.error().kind == Errc::truncated);
  }
}

TEST_CASE("zfp: blocks of another size than the array's are refused", "[codec][zfp][corrupt]") {
  std::mt19937 random(2);
  const Dims dims = {6, 9};
  const auto format = format_of(ZfpMode::rate, 40, dims, 4);
  const Bytes numbers = numbers_of(dims, 4, random);
  const auto stream = encoded(format, numbers);
  check_other_sizes_refused(with(format), stream.bytes, numbers.size());
  CHECK(outcome(decode_alone(with(format), stream.bytes, 0)) == "bad field: zfp decoded size at 0");
}

TEST_CASE("zfp: products of the block's shape that do not fit are refused",
          "[codec][zfp][corrupt]") {
  const Bytes stream(100);
  for (const auto& dims :
       {Dims{1U << 16, 1U << 16}, Dims{1U << 31, 1U << 31, 1U << 31, 4}, Dims{0}, Dims{0, 16}}) {
    CHECK(outcome(decode_alone(with(format_of(ZfpMode::rate, 40, dims, 4)), stream, 64)) ==
          "bad field: zfp decoded size at 0");
  }
}

TEST_CASE("zfp: formats that cannot be are refused", "[codec][zfp][corrupt]") {
  const Bytes stream(100);
  for (const auto& format :
       {format_of(ZfpMode::rate, 40, {}, 4), format_of(ZfpMode::rate, 40, Dims(5, 2), 4),
        format_of(ZfpMode::rate, 40, {8}, 2), format_of(ZfpMode::rate, 40, {8}, 16)}) {
    CHECK(outcome(decode_alone(with(format), stream, 16)) == "bad field: zfp format at 0");
  }
}

// Such a block needs one bit for each cell of zeros.
TEST_CASE("zfp: thin blocks of many cells decode without much memory", "[codec][zfp][unit]") {
  const Dims dims = {1, 1, 1, 100'000};
  const auto format = format_of(ZfpMode::accuracy, 0, dims, 8);
  const std::size_t cells = 25'000;
  CHECK(decode_alone(with(format), Bytes(cells / 8), 800'000) == Bytes(800'000));
  CHECK(outcome(decode_alone(with(format), Bytes(cells / 8 - 1), 800'000)) ==
        "truncated: zfp stream at 3124");
}

}  // namespace
}  // namespace framefs::codec::zfp_test
