#include "codec/compressor/zlib.h"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"
#include "tests/support/stream_encoder.h"
#include "tests/support/stream_samples.h"
#include "tests/unit/codec/stream_checks.h"

namespace framefs::codec::zlib_test {
namespace {

using test::Bytes;

Bytes compressed(const Bytes& sample, int level = 5) {
  return test::compress_stream(test::Codec::zlib, level, sample, {});
}

// One decoder for all calls of a test, so that each call follows every kind of earlier call.
Decode one_decoder() {
  auto made = ZlibDecoder::make();
  REQUIRE(made);
  auto decoder = std::make_shared<ZlibDecoder>(std::move(*made));
  return [decoder](std::span<const std::byte> in, std::span<std::byte> out) {
    return decoder->decode(in, out);
  };
}

// Oracle: the bytes that zlib compressed.
TEST_CASE("zlib: streams of the library decode", "[codec][zlib][unit]") {
  const auto decode = one_decoder();
  for (const auto& sample :
       {Bytes{}, test::sample_text(1, 1), test::sample_text(70'000, 2),
        test::sample_shuffled_floats(5000, 1), test::noise(5000, 1), Bytes(100'000)}) {
    for (const int level : {0, 1, 6, 9}) {
      INFO(sample.size() << " bytes, level " << level);
      const Bytes stream = compressed(sample, level);
      const auto plain = decode_alone(decode, stream, sample.size());
      REQUIRE(plain);
      CHECK(*plain == sample);
      if (!sample.empty()) check_other_sizes_refused(decode, stream, sample.size());
    }
  }
}

// Oracle: RFC 1950 and 1951: a stored block of three bytes, by hand.
TEST_CASE("zlib: a hand-written stream decodes", "[codec][zlib][unit]") {
  Bytes stream;
  for (const unsigned b : {0x78U, 0x01U, 0x01U, 3U, 0U, 0xfcU, 0xffU, 0x61U, 0x62U, 0x63U, 0x02U,
                           0x4dU, 0x01U, 0x27U}) {
    stream.push_back(static_cast<std::byte>(b));
  }
  const auto plain = decode_alone(one_decoder(), stream, 3);
  REQUIRE(plain);
  CHECK(*plain == test::text_bytes("abc"));
}

// Oracle: uncompress(), which the reference library uses.
TEST_CASE("zlib: bytes after the end are left alone", "[codec][zlib][unit]") {
  const auto decode = one_decoder();
  const Bytes sample = test::sample_text(3000, 2);
  Bytes stream = compressed(sample);
  for (const std::size_t more : {1U, 4U, 100U}) {
    Bytes longer = stream;
    test::append(longer, test::noise(more, 1));
    const auto plain = decode_alone(decode, longer, sample.size());
    REQUIRE(plain);
    CHECK(*plain == sample);
  }
}

TEST_CASE("zlib: a damaged header or checksum is refused", "[codec][zlib][corrupt]") {
  const auto decode = one_decoder();
  const Bytes sample = test::sample_text(3000, 2);
  const Bytes good = compressed(sample);
  for (const std::size_t from_end : {1U, 2U, 3U, 4U}) {
    Bytes bad = good;
    bad[bad.size() - from_end] ^= std::byte{0x10};
    CHECK(test::outcome(decode_alone(decode, bad, sample.size())) == "bad field: zlib stream at 0");
  }
  for (unsigned bit = 0; bit < 16; ++bit) {
    INFO("bit " << bit << " of the header");
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    CHECK(test::outcome(decode_alone(decode, bad, sample.size())) == "bad field: zlib stream at 0");
  }
  const auto plain = decode_alone(decode, good, sample.size());  // the decoder can still be used
  REQUIRE(plain);
  CHECK(*plain == sample);
}

TEST_CASE("zlib: a wrong size is named", "[codec][zlib][corrupt]") {
  const Bytes sample = test::sample_text(3000, 2);
  const auto decode = one_decoder();
  const Bytes stream = compressed(sample);
  CHECK(test::outcome(decode_alone(decode, stream, 2999)) == "bad field: zlib decoded size at 0");
  CHECK(test::outcome(decode_alone(decode, stream, 3001)) == "bad field: zlib decoded size at 0");
}

TEST_CASE("zlib: every truncated prefix is refused", "[codec][zlib][corrupt]") {
  const auto decode = one_decoder();
  for (const auto& sample : {test::sample_text(3000, 2), test::noise(200, 1)}) {
    check_prefixes_refused(decode, compressed(sample), sample.size());
  }
}

// Oracle: the checksum detects every flipped bit, and the stream has nothing besides checked data.
TEST_CASE("zlib: a flipped bit never gives other bytes", "[codec][zlib][corrupt]") {
  const auto decode = one_decoder();
  const Bytes sample = test::sample_text(500, 2);
  const Bytes good = compressed(sample);
  check_bit_flips(decode, good, sample.size());
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto plain = decode_alone(decode, bad, sample.size());
    if (plain) REQUIRE(*plain == sample);
  }
}

}  // namespace
}  // namespace framefs::codec::zlib_test
