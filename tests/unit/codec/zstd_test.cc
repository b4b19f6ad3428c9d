#include "codec/compressor/zstd.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <zdict.h>
#include <zstd.h>

#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"
#include "tests/support/stream_encoder.h"
#include "tests/support/stream_samples.h"
#include "tests/unit/codec/stream_checks.h"

namespace framefs::codec::zstd_test {
namespace {

using test::Bytes;

Bytes compressed(const Bytes& sample, const Bytes& dictionary = {}, int level = 5) {
  return test::compress_stream(test::Codec::zstd, level, sample, dictionary);
}

// A zstd frame with these parameters set to 1.
Bytes compressed_with(const Bytes& sample, std::initializer_list<ZSTD_cParameter> on, bool sized) {
  const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                        ZSTD_freeCCtx);
  for (const auto parameter : on) ZSTD_CCtx_setParameter(context.get(), parameter, 1);
  if (!sized) ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, 0);
  Bytes out(ZSTD_compressBound(sample.size()));
  const auto size =
      ZSTD_compress2(context.get(), out.data(), out.size(), sample.data(), sample.size());
  REQUIRE(ZSTD_isError(size) == 0);
  out.resize(size);
  return out;
}

// One decoder for all calls of a test, so that each call follows every kind of earlier call.
Decode one_decoder(const ZstdDictionary* dictionary = nullptr) {
  auto made = ZstdDecoder::make();
  REQUIRE(made);
  auto decoder = std::make_shared<ZstdDecoder>(std::move(*made));
  return [decoder, dictionary](std::span<const std::byte> in, std::span<std::byte> out) {
    return decoder->decode(in, out, dictionary);
  };
}

Bytes trained_dictionary() {
  constexpr std::size_t kSamples = 400;
  constexpr std::size_t kSampleBytes = 500;
  const Bytes all = test::sample_text(kSamples * kSampleBytes, 9);
  const std::vector<std::size_t> sizes(kSamples, kSampleBytes);
  Bytes out(4096);
  const auto size = ZDICT_trainFromBuffer(out.data(), out.size(), all.data(), sizes.data(),
                                          static_cast<unsigned>(sizes.size()));
  REQUIRE(ZDICT_isError(size) == 0);
  out.resize(size);
  return out;
}

// Oracle: the bytes that the library compressed.
TEST_CASE("zstd: streams of the library decode", "[codec][zstd][unit]") {
  const auto decode = one_decoder();
  for (const auto& sample :
       {test::sample_text(1, 1), test::sample_text(300'000, 2),
        test::sample_shuffled_floats(5000, 1), test::noise(5000, 1), Bytes(100'000)}) {
    for (const int level : {-5, 1, 9, 19}) {
      INFO(sample.size() << " bytes, level " << level);
      const Bytes stream = compressed(sample, {}, level);
      const auto plain = decode_alone(decode, stream, sample.size());
      REQUIRE(plain);
      CHECK(*plain == sample);
      check_other_sizes_refused(decode, stream, sample.size());
    }
  }
}

// Oracle: the chunk format allows any zstd frames, one after the other.
TEST_CASE("zstd: frames of every form decode", "[codec][zstd][unit]") {
  const auto decode = one_decoder();
  const Bytes sample = test::sample_text(5000, 2);
  Bytes twice = sample;
  test::append(twice, sample);

  const Bytes unsized = compressed_with(sample, {}, false);
  REQUIRE(decode_alone(decode, unsized, sample.size()) == sample);
  check_other_sizes_refused(decode, unsized, sample.size());

  const Bytes checked = compressed_with(sample, {ZSTD_c_checksumFlag}, true);
  REQUIRE(decode_alone(decode, checked, sample.size()) == sample);

  Bytes frames = checked;
  test::append(frames, unsized);
  REQUIRE(decode_alone(decode, frames, twice.size()) == twice);

  Bytes skipping;
  test::append_le<std::uint32_t>(skipping, 0x184d2a50);
  test::append_le<std::uint32_t>(skipping, 3);
  test::append(skipping, "xyz");
  test::append(skipping, unsized);
  REQUIRE(decode_alone(decode, skipping, sample.size()) == sample);
}

TEST_CASE("zstd: a wrong checksum has an error of its own", "[codec][zstd][corrupt]") {
  const auto decode = one_decoder();
  const Bytes sample = test::sample_text(5000, 2);
  Bytes stream = compressed_with(sample, {ZSTD_c_checksumFlag}, true);
  stream.back() ^= std::byte{1};
  CHECK(test::outcome(decode_alone(decode, stream, sample.size())) ==
        "checksum mismatch: zstd stream at 0");
  stream.back() ^= std::byte{1};
  stream.front() ^= std::byte{1};
  CHECK(test::outcome(decode_alone(decode, stream, sample.size())) ==
        "bad field: zstd stream at 0");
  stream.front() ^= std::byte{1};
  CHECK(test::outcome(decode_alone(decode, stream, sample.size() - 1)) ==
        "bad field: zstd decoded size at 0");
  CHECK(test::outcome(decode_alone(decode, stream, sample.size() + 1)) ==
        "bad field: zstd decoded size at " + std::to_string(stream.size()));
  stream.resize(stream.size() / 2);
  CHECK(test::outcome(decode_alone(decode, stream, sample.size())) ==
        "truncated: zstd stream at 0");
}

TEST_CASE("zstd: every truncated prefix is refused", "[codec][zstd][corrupt]") {
  const auto decode = one_decoder();
  for (const auto& sample : {test::sample_text(3000, 2), test::noise(200, 1), Bytes(1000)}) {
    check_prefixes_refused(decode, compressed(sample), sample.size());
  }
}

TEST_CASE("zstd: flipped bits stay within the output", "[codec][zstd][corrupt]") {
  const Bytes sample = test::sample_text(500, 2);
  check_bit_flips(one_decoder(), compressed(sample), sample.size());

  const Bytes text = test::sample_text(300, 9);
  const auto dictionary = ZstdDictionary::make(text);
  REQUIRE(dictionary);
  check_bit_flips(one_decoder(&*dictionary), compressed(sample, text), sample.size());
}

// Oracle: the bytes that went in; without the dictionary the result differs.
TEST_CASE("zstd: both kinds of dictionary decode", "[codec][zstd][unit]") {
  const Bytes sample = test::sample_text(2000, 9);
  for (const auto& bytes : {test::sample_text(1000, 9), trained_dictionary()}) {
    INFO("dictionary of " << bytes.size() << " bytes");
    const Bytes stream = compressed(sample, bytes);
    REQUIRE(stream.size() < compressed(sample).size());
    auto made = ZstdDictionary::make(bytes);
    REQUIRE(made);
    CHECK(made->memory_bytes() > bytes.size());
    const ZstdDictionary dictionary = std::move(*made);
    const auto plain = decode_alone(one_decoder(&dictionary), stream, sample.size());
    REQUIRE(plain);
    CHECK(*plain == sample);
    const auto without = decode_alone(one_decoder(), stream, sample.size());
    CHECK((!without || *without != sample));
  }
}

TEST_CASE("zstd: a frame of another trained dictionary is refused", "[codec][zstd][corrupt]") {
  const Bytes trained = trained_dictionary();
  const Bytes sample = test::sample_text(2000, 9);
  const Bytes stream = compressed(sample, trained);
  CHECK(test::outcome(decode_alone(one_decoder(), stream, sample.size())) ==
        "bad field: dictionary at 0");
  Bytes renamed = trained;
  renamed[4] ^= std::byte{1};  // the dictionary's number
  const auto other = ZstdDictionary::make(renamed);
  REQUIRE(other);
  CHECK(test::outcome(decode_alone(one_decoder(&*other), stream, sample.size())) ==
        "bad field: dictionary at 0");
}

TEST_CASE("zstd: a damaged trained dictionary is refused", "[codec][zstd][corrupt]") {
  const Bytes trained = trained_dictionary();
  // Magic number and dictionary number are complete, but the tables are cut.
  for (const std::size_t n : {8U, 9U, 20U, 60U}) {
    INFO("prefix of " << n << " bytes");
    const auto dictionary = ZstdDictionary::make(std::span(trained).first(n));
    REQUIRE_FALSE(dictionary);
    CHECK(test::outcome(dictionary) == "bad field: dictionary at 0");
  }
}

}  // namespace
}  // namespace framefs::codec::zstd_test
