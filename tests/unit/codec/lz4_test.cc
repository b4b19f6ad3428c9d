#include "codec/compressor/lz4.h"

#include <cstddef>
#include <initializer_list>
#include <limits>
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

namespace framefs::codec {
namespace {

using test::Bytes;
using test::Codec;
using test::text_bytes;

constexpr int kLevel = 5;

Decode with(Bytes dictionary) {
  return [text = std::move(dictionary)](std::span<const std::byte> in, std::span<std::byte> out) {
    return decode_lz4(in, out, text);
  };
}

Bytes stream_of(std::initializer_list<unsigned> values) {
  Bytes out;
  for (const auto value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

// Oracle: the bytes that the library compressed.
TEST_CASE("lz4: what the library wrote comes back", "[codec][lz4][unit]") {
  const Bytes dictionary = test::sample_text(2000, 9);
  for (const auto& sample :
       {test::sample_text(1, 1), test::sample_text(70'000, 2),
        test::sample_shuffled_floats(5000, 1), test::noise(5000, 1), Bytes(100'000)}) {
    for (const auto codec : {Codec::lz4, Codec::lz4hc}) {
      for (const auto& text : {Bytes{}, dictionary}) {
        INFO(sample.size() << " bytes, dictionary of " << text.size());
        const Bytes stream = test::compress_stream(codec, kLevel, sample, text);
        const auto plain = decode_alone(with(text), stream, sample.size());
        REQUIRE(plain);
        CHECK(*plain == sample);
        check_other_sizes_refused(with(text), stream, sample.size());
      }
    }
  }
}

// Oracle: written by hand from the LZ4 block format.
TEST_CASE("lz4: hand-written blocks decode", "[codec][lz4][unit]") {
  // The format wants the last match to begin twelve bytes before the end or earlier.
  const auto end = text_bytes("0123456789ab");
  Bytes stream = stream_of({0x20, 'a', 'b', 0x02, 0x00, 0xc0});
  test::append(stream, end);
  const auto plain = decode_alone(with({}), stream, 2 + 4 + 12);
  REQUIRE(plain);
  CHECK(*plain == text_bytes("ababab0123456789ab"));

  // The first match begins in the dictionary and ends in the block itself.
  Bytes reaching_back = stream_of({0x12, 'a', 0x04, 0x00, 0xc0});
  test::append(reaching_back, end);
  const auto after_text = decode_alone(with(text_bytes("wxyz")), reaching_back, 1 + 6 + 12);
  REQUIRE(after_text);
  CHECK(*after_text == text_bytes("axyzaxy0123456789ab"));
  CHECK_FALSE(decode_alone(with({}), reaching_back, 1 + 6 + 12));
}

// Oracle: a stream fits one dictionary.
TEST_CASE("lz4: another dictionary does not give the same bytes", "[codec][lz4][corrupt]") {
  const Bytes right = test::sample_text(2000, 9);
  const Bytes sample(right.begin() + 100, right.begin() + 1900);
  const Bytes stream = test::compress_stream(Codec::lz4, kLevel, sample, right);
  REQUIRE(stream.size() < 100);  // so it is the dictionary that it copies from
  const auto no_text = decode_alone(with({}), stream, sample.size());
  CHECK_FALSE(no_text);
  const auto other_text = decode_alone(with(test::noise(2000, 1)), stream, sample.size());
  CHECK((!other_text || *other_text != sample));
}

TEST_CASE("lz4: every truncated prefix is refused", "[codec][lz4][corrupt]") {
  const Bytes dictionary = test::sample_text(500, 9);
  const Bytes sample = test::sample_text(3000, 2);
  for (const auto& text : {Bytes{}, dictionary}) {
    const Bytes stream = test::compress_stream(Codec::lz4, kLevel, sample, text);
    check_prefixes_refused(with(text), stream, sample.size());
  }
}

TEST_CASE("lz4: a byte after the end is refused", "[codec][lz4][corrupt]") {
  const Bytes sample = test::sample_text(3000, 2);
  Bytes stream = test::compress_stream(Codec::lz4, kLevel, sample, {});
  stream.push_back(std::byte{0});
  CHECK(test::outcome(decode_alone(with({}), stream, sample.size())) ==
        "bad field: lz4 stream at 0");
}

TEST_CASE("lz4: flipped bits stay within the output", "[codec][lz4][corrupt]") {
  const Bytes dictionary = test::sample_text(200, 9);
  const Bytes sample = test::sample_text(500, 2);
  for (const auto& text : {Bytes{}, dictionary}) {
    const Bytes stream = test::compress_stream(Codec::lz4, kLevel, sample, text);
    check_bit_flips(with(text), stream, sample.size());
  }
}

// Oracle: distance 0 does not exist; taken literally it copies what was in the output before.
TEST_CASE("lz4: distance 0 does not show old memory", "[codec][lz4][corrupt]") {
  for (const unsigned length : {4U, 8U, 12U, 17U, 18U}) {
    for (const unsigned literals_after : {5U, 12U, 14U}) {
      INFO("match of " << length << ", then " << literals_after);
      Bytes stream = stream_of({0x10 | (length - 4), 'a', 0x00, 0x00, literals_after << 4});
      stream.resize(stream.size() + literals_after, std::byte{'z'});
      const auto plain = decode_guarded(with({}), stream, 1 + length + literals_after);
      if (!plain) CHECK(plain.error().kind == Errc::bad_field);
    }
  }
}

// Oracle: the library counts in int; a size that it would take for another one must not reach it.
TEST_CASE("lz4: sizes beyond int are refused before they are looked at", "[codec][lz4][unit]") {
  constexpr std::size_t kTooMany = std::size_t{std::numeric_limits<int>::max()} + 1;
  std::byte one{0};
  const std::span<std::byte> good(&one, 1);
  // A span of memory that is not there: nothing may be read from it.
  const std::span<std::byte> huge(&one, kTooMany);
  CHECK(test::outcome(decode_lz4(huge, good, {})) == "over limit: lz4 stream size at 0");
  CHECK(test::outcome(decode_lz4(good, huge, {})) == "over limit: lz4 stream size at 0");
  CHECK(test::outcome(decode_lz4(good, good, huge)) == "over limit: lz4 stream size at 0");
}

}  // namespace
}  // namespace framefs::codec
