#include "codec/compressor/stream_decoder.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"
#include "tests/support/stream_encoder.h"
#include "tests/support/stream_samples.h"
#include "tests/unit/codec/stream_checks.h"

namespace framefs::codec::stream_decoder_test {
namespace {

using test::Bytes;
using test::Codec;

static_assert(std::is_nothrow_move_constructible_v<StreamDecoder>);
static_assert(std::is_nothrow_move_assignable_v<StreamDecoder>);
static_assert(!std::is_copy_constructible_v<StreamDecoder>);
static_assert(!std::is_copy_assignable_v<StreamDecoder>);
static_assert(std::is_nothrow_move_constructible_v<Dictionary>);

struct Supported {
  CodecFormat format;
  Codec codec;
};
constexpr std::array kSupported{
    Supported{CodecFormat::blosclz, Codec::blosclz}, Supported{CodecFormat::lz4, Codec::lz4},
    Supported{CodecFormat::lz4, Codec::lz4hc},       Supported{CodecFormat::snappy, Codec::snappy},
    Supported{CodecFormat::zlib, Codec::zlib},       Supported{CodecFormat::zstd, Codec::zstd}};

Bytes compressed(Codec codec, const Bytes& sample, const Bytes& dictionary = {}) {
  return test::compress_stream(codec, 5, sample, dictionary);
}

Decode with(StreamDecoder& decoder, CodecFormat format, const Dictionary* dictionary = nullptr) {
  return [&decoder, format, dictionary](std::span<const std::byte> in, std::span<std::byte> out) {
    return decoder.decode({.codec = format}, in, out, dictionary);
  };
}

// Oracle: the bytes that went in.
TEST_CASE("stream_decoder: one decoder takes every format in turn",
          "[codec][stream_decoder][unit]") {
  StreamDecoder decoder;
  for (std::size_t round = 1; round <= 3; ++round) {
    for (const auto& [format, codec] : kSupported) {
      INFO(codec_format_name(format) << ", round " << round);
      const Bytes sample = test::sample_text(1000 * round, 1);
      const Bytes stream = compressed(codec, sample);
      const auto plain = decode_alone(with(decoder, format), stream, sample.size());
      REQUIRE(plain);
      CHECK(*plain == sample);
      check_other_sizes_refused(with(decoder, format), stream, sample.size());
    }
  }
}

TEST_CASE("stream_decoder: every truncated prefix is refused", "[codec][stream_decoder][corrupt]") {
  StreamDecoder decoder;
  const Bytes sample = test::sample_text(600, 1);
  for (const auto& [format, codec] : kSupported) {
    INFO(codec_format_name(format));
    check_prefixes_refused(with(decoder, format), compressed(codec, sample), sample.size());
  }
}

// Oracle: a stream of one format is invalid in all other formats.
TEST_CASE("stream_decoder: a stream is not taken for one of another format",
          "[codec][stream_decoder][corrupt]") {
  StreamDecoder decoder;
  const Bytes sample = test::sample_text(2000, 1);
  for (const auto& [format, codec] : kSupported) {
    for (const auto& [other_format, other_codec] : kSupported) {
      if (format == other_format) continue;
      INFO(codec_format_name(other_format) << " read as " << codec_format_name(format));
      CHECK_FALSE(
          decode_alone(with(decoder, format), compressed(other_codec, sample), sample.size()));
    }
  }
}

TEST_CASE("stream_decoder: formats that cannot be decoded are refused",
          "[codec][stream_decoder][unit]") {
  StreamDecoder decoder;
  for (const auto format : {CodecFormat::lizard, CodecFormat::plugin, CodecFormat::superchunk}) {
    INFO(codec_format_name(format));
    const Bytes stream = test::text_bytes("stream");
    CHECK(test::outcome(decode_alone(with(decoder, format), stream, 10)) ==
          test::outcome(check_stream_format({.codec = format})));
  }
}

// Oracle: the bytes that went in.
TEST_CASE("stream_decoder: dictionaries help the formats that have them",
          "[codec][stream_decoder][unit]") {
  StreamDecoder decoder;
  const Bytes sample = test::sample_text(2000, 9);
  for (const auto& [format, codec] : kSupported) {
    INFO(codec_format_name(format));
    const bool uses_it = format == CodecFormat::lz4 || format == CodecFormat::zstd;
    Bytes text = test::sample_text(1500, 9);
    const Bytes stream = compressed(codec, sample, text);
    REQUIRE((stream.size() < compressed(codec, sample).size()) == uses_it);
    const auto dictionary = Dictionary::make(format, text);
    REQUIRE(dictionary);
    CHECK((dictionary->memory_bytes() >= text.size()) == uses_it);
    text.assign(text.size(), std::byte{0});  // it has its own copy
    const auto plain = decode_alone(with(decoder, format, &*dictionary), stream, sample.size());
    REQUIRE(plain);
    CHECK(*plain == sample);
    const auto without = decode_alone(with(decoder, format), stream, sample.size());
    CHECK((without && *without == sample) == !uses_it);
  }
}

TEST_CASE("stream_decoder: streams with and without dictionary may alternate",
          "[codec][stream_decoder][unit]") {
  StreamDecoder decoder;
  const Bytes sample = test::sample_text(2000, 9);
  const Bytes text = test::sample_text(1500, 9);
  for (const auto& [format, codec] : kSupported) {
    INFO(codec_format_name(format));
    const auto dictionary = Dictionary::make(format, text);
    REQUIRE(dictionary);
    for (int round = 0; round < 3; ++round) {
      CHECK(decode_alone(with(decoder, format), compressed(codec, sample), sample.size()) ==
            sample);
      CHECK(decode_alone(with(decoder, format, &*dictionary), compressed(codec, sample, text),
                         sample.size()) == sample);
    }
  }
}

TEST_CASE("stream_decoder: a dictionary of another format is our own mistake",
          "[codec][stream_decoder][unit]") {
  StreamDecoder decoder;
  const Bytes sample = test::sample_text(2000, 9);
  const auto dictionary = Dictionary::make(CodecFormat::lz4, test::sample_text(300, 9));
  REQUIRE(dictionary);
  const auto plain = decode_alone(with(decoder, CodecFormat::zstd, &*dictionary),
                                  compressed(Codec::zstd, sample), sample.size());
  CHECK(test::outcome(plain) == "BUG: dictionary at 0");
}

TEST_CASE("stream_decoder: only zstd looks into a dictionary when it is made",
          "[codec][stream_decoder][corrupt]") {
  Bytes damaged;  // starts like a trained dictionary, and is cut there
  test::append_le<std::uint32_t>(damaged, 0xec30a437);
  test::append_le<std::uint32_t>(damaged, 1);
  for (const auto& [format, codec] : kSupported) {
    INFO(codec_format_name(format));
    CHECK(Dictionary::make(format, damaged).has_value() == (format != CodecFormat::zstd));
  }
  CHECK(test::outcome(Dictionary::make(CodecFormat::zstd, damaged)) ==
        "bad field: dictionary at 0");
}

TEST_CASE("stream_decoder: it works on after an error and after a move",
          "[codec][stream_decoder][unit]") {
  const Bytes sample = test::sample_text(2000, 1);
  for (const auto& [format, codec] : kSupported) {
    INFO(codec_format_name(format));
    StreamDecoder first;
    const Bytes stream = compressed(codec, sample);
    Bytes half = stream;
    half.resize(half.size() / 2);
    CHECK_FALSE(decode_alone(with(first, format), half, sample.size()));
    CHECK(decode_alone(with(first, format), stream, sample.size()) == sample);
    StreamDecoder second(std::move(first));
    CHECK(decode_alone(with(second, format), stream, sample.size()) == sample);
    StreamDecoder third;
    third = std::move(second);
    CHECK(decode_alone(with(third, format), stream, sample.size()) == sample);
  }
}

// Oracle: the same bytes in every thread.  The main thread asserts, because Catch is not
// thread-safe.
TEST_CASE("stream_decoder: threads share a dictionary", "[codec][stream_decoder][unit]") {
  constexpr std::size_t kThreads = 4;
  constexpr int kRounds = 50;
  const Bytes sample = test::sample_text(2000, 9);
  const Bytes text = test::sample_text(1500, 9);
  for (const auto& [format, codec] : kSupported) {
    INFO(codec_format_name(format));
    const Bytes stream = compressed(codec, sample, text);
    const auto dictionary = Dictionary::make(format, text);
    REQUIRE(dictionary);
    std::array<int, kThreads> good{};
    {
      std::vector<std::jthread> threads;
      threads.reserve(kThreads);
      for (auto& count : good) {
        threads.emplace_back([&, coded_as = format] {
          StreamDecoder decoder;
          Bytes out(sample.size());
          for (int round = 0; round < kRounds; ++round) {
            const auto status = decoder.decode({.codec = coded_as}, stream, out, &*dictionary);
            count += status && out == sample ? 1 : 0;
          }
        });
      }
    }
    for (const int count : good) CHECK(count == kRounds);
  }
}

}  // namespace
}  // namespace framefs::codec::stream_decoder_test
