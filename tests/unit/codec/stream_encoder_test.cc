#include "codec/compressor/stream_encoder.h"

#include <cstdint>
#include <random>

#include "codec/compressor/stream_decoder.h"
#include "tests/support/catch.h"
#include "tests/support/outcome.h"
#include "tests/support/plain_kinds.h"

namespace framefs::codec::stream_encoder_test {
namespace {

using test::Bytes;
using test::draw;
using test::outcome;
using test::PlainKind;

constexpr CodecId kCodecs[] = {CodecId::blosclz, CodecId::lz4, CodecId::lz4hc, CodecId::zlib,
                               CodecId::zstd};

Bytes encoded(StreamEncoder& encoder, CodecId codec, int clevel, const Bytes& plain,
              const EncoderDictionary* dictionary = nullptr) {
  Bytes out(plain.size());
  const auto size = encoder.encode(codec, clevel, plain, out, dictionary);
  INFO(outcome(size));
  REQUIRE(size);
  REQUIRE(*size <= out.size());
  out.resize(*size);
  return out;
}

TEST_CASE("stream_encoder: the stream of every codec and level decodes to the input",
          "[codec][stream_encoder][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  StreamEncoder encoder;
  StreamDecoder decoder;
  std::size_t encodings = 0;
  for (int clevel = 1; clevel <= 9; ++clevel) {
    for (const auto codec : kCodecs) {
      for (const auto kind : test::kPlainKinds) {
        const std::size_t size = 1 + draw(random) % 40000;
        CAPTURE(codec_name(codec), clevel, test::plain_kind_name(kind), size);
        const auto plain = test::plain_bytes(kind, size, 4, draw(random));
        const auto stream = encoded(encoder, codec, clevel, plain);
        if (stream.empty()) continue;
        ++encodings;
        Bytes out(plain.size());
        REQUIRE(outcome(decoder.decode({.codec = format_of(codec)}, stream, out, nullptr)) == "ok");
        REQUIRE(out == plain);
      }
    }
  }
  CHECK(encodings > 100);
}

TEST_CASE("stream_encoder: text gets shorter, noise does not fit",
          "[codec][stream_encoder][unit]") {
  StreamEncoder encoder;
  const auto text = test::sample_text(50000, 1);
  const auto noise = test::noise(50000, 1);
  for (const auto codec : kCodecs) {
    CAPTURE(codec_name(codec));
    const auto size = encoded(encoder, codec, 5, text).size();
    CHECK(size > 0);
    CHECK(size < text.size() * 2 / 3);
    CHECK(encoded(encoder, codec, 5, noise).empty());
  }
}

TEST_CASE("stream_encoder: a stream does not depend on earlier streams",
          "[codec][stream_encoder][unit]") {
  StreamEncoder used;
  for (std::uint32_t seed = 0; seed < 5; ++seed) {
    const auto plain = test::plain_bytes(PlainKind::mixed, 20000, 8, seed);
    for (const auto codec : kCodecs) {
      for (int clevel = 1; clevel <= 9; ++clevel) {
        CAPTURE(codec_name(codec), clevel, seed);
        StreamEncoder fresh;
        CHECK(encoded(used, codec, clevel, plain) == encoded(fresh, codec, clevel, plain));
      }
    }
  }
}

TEST_CASE("stream_encoder: a zstd dictionary shortens data that resemble its samples",
          "[codec][stream_encoder][unit]") {
  constexpr std::size_t kSample = 512;
  const auto all = test::sample_text(400 * kSample, 9);
  const std::vector<std::size_t> sizes(400, kSample);
  const auto trained = EncoderDictionary::train(CodecId::zstd, 5, all, sizes, 8000);
  REQUIRE(trained);
  REQUIRE(trained->has_value());
  const auto& dictionary = **trained;
  CHECK(dictionary.bytes().size() <= 8000);

  const auto plain = test::sample_text(2000, 9);
  StreamEncoder encoder;
  const auto with = encoded(encoder, CodecId::zstd, 5, plain, &dictionary);
  CHECK(with.size() < encoded(encoder, CodecId::zstd, 5, plain).size());

  const auto reading = Dictionary::make(CodecFormat::zstd, dictionary.bytes());
  REQUIRE(reading);
  StreamDecoder decoder;
  Bytes out(plain.size());
  REQUIRE(outcome(decoder.decode({.codec = CodecFormat::zstd}, with, out, &*reading)) == "ok");
  CHECK(out == plain);
}

TEST_CASE("stream_encoder: no dictionary comes of too few samples, or for other codecs",
          "[codec][stream_encoder][unit]") {
  const auto all = test::sample_text(2000, 9);
  const std::vector<std::size_t> two(2, 1000);
  CHECK_FALSE(EncoderDictionary::train(CodecId::zstd, 5, all, two, 8000).value().has_value());
  CHECK_FALSE(EncoderDictionary::train(CodecId::lz4, 5, all, two, 8000).value().has_value());
}

TEST_CASE("stream_encoder: names and numbers of codecs are those of the format",
          "[codec][stream_encoder][unit]") {
  struct Known {
    const char* name;
    std::uint8_t number;
    CodecFormat format;
  };
  const Known known[] = {{"blosclz", 0, CodecFormat::blosclz},
                         {"lz4", 1, CodecFormat::lz4},
                         {"lz4hc", 2, CodecFormat::lz4},
                         {"zlib", 4, CodecFormat::zlib},
                         {"zstd", 5, CodecFormat::zstd}};
  for (const auto& [name, number, format] : known) {
    const auto codec = codec_of_name(name);
    REQUIRE(codec);
    CHECK(static_cast<std::uint8_t>(*codec) == number);
    CHECK(codec_of_number(number) == codec);
    CHECK(format_of(*codec) == format);
    CHECK(std::string(codec_name(*codec)) == name);
  }
  CHECK_FALSE(codec_of_name("snappy"));
  CHECK_FALSE(codec_of_name(""));
  CHECK_FALSE(codec_of_number(3));
  CHECK_FALSE(codec_of_number(32));
}

}  // namespace
}  // namespace framefs::codec::stream_encoder_test
