#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <span>
#include <utility>

#include "codec/compressor/lz4_decoder.h"
#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/lz4_reference.h"
#include "tests/support/outcome.h"
#include "tests/support/random_seed.h"
#include "tests/support/sample_data.h"
#include "tests/support/stream_encoder.h"
#include "tests/support/stream_samples.h"
#include "tests/unit/codec/stream_checks.h"

namespace framefs::codec::lz4_test {
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
TEST_CASE("lz4: streams of the library decode", "[codec][lz4][unit]") {
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

// Oracle: blocks written by hand from the LZ4 block format.
TEST_CASE("lz4: hand-written blocks decode", "[codec][lz4][unit]") {
  // The format requires that the last match begins at least twelve bytes before the end.
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

// Oracle: a stream decodes only with its own dictionary.
TEST_CASE("lz4: another dictionary does not give the same bytes", "[codec][lz4][corrupt]") {
  const Bytes right = test::sample_text(2000, 9);
  const Bytes sample(right.begin() + 100, right.begin() + 1900);
  const Bytes stream = test::compress_stream(Codec::lz4, kLevel, sample, right);
  REQUIRE(stream.size() < 100);  // most of it is copied from the dictionary
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
  const auto decoded = decode_alone(with({}), stream, sample.size());
  REQUIRE_FALSE(decoded);
  CHECK(decoded.error().kind == Errc::bad_field);
}

TEST_CASE("lz4: flipped bits stay within the output", "[codec][lz4][corrupt]") {
  const Bytes dictionary = test::sample_text(200, 9);
  const Bytes sample = test::sample_text(500, 2);
  for (const auto& text : {Bytes{}, dictionary}) {
    const Bytes stream = test::compress_stream(Codec::lz4, kLevel, sample, text);
    check_bit_flips(with(text), stream, sample.size());
  }
}

// A match of `length` at `distance` after `lead` literals, followed by `tail` literals.
Bytes with_match(std::size_t lead, std::size_t distance, std::size_t length, std::size_t tail) {
  const auto half = [](std::size_t count) { return std::min<std::size_t>(count, 15); };
  const auto append_rest = [](Bytes& to, std::size_t count) {
    if (count < 15) return;
    for (count -= 15; count >= 255; count -= 255) to.push_back(std::byte{255});
    to.push_back(static_cast<std::byte>(count));
  };
  Bytes stream;
  stream.push_back(static_cast<std::byte>(half(lead) << 4 | half(length - 4)));
  append_rest(stream, lead);
  stream.resize(stream.size() + lead, std::byte{'a'});
  test::append_le(stream, static_cast<std::uint16_t>(distance));
  append_rest(stream, length - 4);
  stream.push_back(static_cast<std::byte>(half(tail) << 4));
  append_rest(stream, tail);
  stream.resize(stream.size() + tail, std::byte{'z'});
  return stream;
}

// decode_lz4_prefix(), for streams of `size` bytes; only the beginning of the output is compared.
Decode prefix_of(std::size_t size) {
  return [size](std::span<const std::byte> in, std::span<std::byte> head) -> Status {
    Bytes out(size, head.empty() ? std::byte{0} : head.front());  // old bytes, all equal
    FRAMEFS_CHECK(decode_lz4_prefix(in, out, head.size()));
    std::ranges::copy(std::span(out).first(head.size()), head.begin());
    return {};
  };
}

// Oracle: no byte of the stream's output is at such a distance.  Followed literally, distance 0
// leaves the old content of the output.  A distance beyond the beginning copies old content, or
// memory before the output.
TEST_CASE("lz4: a match from outside of the output is refused, also in a prefix",
          "[codec][lz4][corrupt]") {
  const Bytes text = test::sample_text(100, 3);
  for (const std::size_t lead : {1U, 4U, 14U, 15U, 40U, 300U}) {
    for (const std::size_t length : {4U, 8U, 17U, 18U, 19U, 40U, 64U, 1000U}) {
      for (const std::size_t tail : {12U, 14U, 60U, 200U}) {
        const std::size_t size = lead + length + tail;
        for (const std::size_t distance :
             {std::size_t{0}, lead + 1, lead + 15, std::size_t{65535}}) {
          INFO(lead << " literals, " << length << " bytes from " << distance << " before, "
                    << tail);
          const Bytes stream = with_match(lead, distance, length, tail);
          const auto expected = "bad field: lz4 match distance at 0";  // the first sequence
          CHECK(test::outcome(decode_guarded(with({}), stream, size)) == expected);
          for (const std::size_t count : {lead + 1, lead + length - 1, lead + length, size - 1}) {
            CHECK(test::outcome(decode_guarded(prefix_of(size), stream, count)) == expected);
          }
          if (distance == 0 || distance > lead + text.size()) {
            CHECK(test::outcome(decode_guarded(with(text), stream, size)) == expected);
          }
          CHECK(decode_guarded(prefix_of(size), stream, lead));  // valid before the match
        }
      }
    }
  }
}

// Oracle: the library, for every stream without a distance of 0; for a prefix, the decoded whole.
TEST_CASE("lz4: any damage is taken as the library takes it, and shows no old bytes",
          "[codec][lz4][corrupt]") {
  const auto seed = test::random_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const Bytes dictionary = test::sample_text(300, 9);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t size = 20 + random() % 400;
    const auto kind = static_cast<std::uint32_t>(random() % 50);
    const Bytes sample = round % 3 == 0 ? test::ramp(size, 4, kind) : test::sample_text(size, kind);
    const Bytes text = round % 2 == 0 ? Bytes{} : dictionary;
    Bytes stream = test::compress_stream(Codec::lz4, kLevel, sample, text);
    for (auto flips = random() % 4; flips > 0; --flips) {
      const auto value = random() % 3 == 0 ? 0 : random();
      stream[random() % stream.size()] = static_cast<std::byte>(value);
    }
    INFO("round " << round);
    const auto expected = test::lz4_reference(stream, size, text);
    const auto whole = decode_guarded(with(text), stream, size);
    REQUIRE(whole.has_value() == expected.has_value());
    if (whole) REQUIRE(*whole == *expected);
    if (!text.empty()) continue;
    const std::size_t count = random() % size;
    const auto head = decode_guarded(prefix_of(size), stream, count);
    if (whole) REQUIRE(head);
    if (whole) REQUIRE(std::ranges::equal(*head, std::span(*whole).first(count)));
  }
}

// Oracle: the library counts in int, so it must never get a size that int cannot hold.
// Oracle: the library.
TEST_CASE("lz4: an output of no bytes has one stream", "[codec][lz4][corrupt]") {
  for (unsigned token = 0; token < 256; ++token) {
    for (const std::size_t rest : {0U, 1U, 2U}) {
      INFO("token " << token << ", and " << rest << " more bytes");
      Bytes stream(1 + rest);
      stream[0] = static_cast<std::byte>(token);
      const bool is_accepted = decode_lz4(stream, {}, {}).has_value();
      CHECK(is_accepted == test::lz4_reference(stream, 0, {}).has_value());
      CHECK(is_accepted == (token == 0 && rest == 0));
    }
  }
}

TEST_CASE("lz4: sizes beyond int are refused before they are looked at", "[codec][lz4][unit]") {
  constexpr std::size_t kTooMany = std::size_t{std::numeric_limits<int>::max()} + 1;
  std::byte one{0};
  const std::span<std::byte> good(&one, 1);
  // A span of memory that does not exist: nothing may be read from it.
  const std::span<std::byte> huge(&one, kTooMany);
  CHECK(test::outcome(decode_lz4(huge, good, {})) == "over limit: lz4 stream size at 0");
  CHECK(test::outcome(decode_lz4(good, huge, {})) == "over limit: lz4 stream size at 0");
  CHECK(test::outcome(decode_lz4(good, good, huge)) == "over limit: lz4 stream size at 0");
}

}  // namespace
}  // namespace framefs::codec::lz4_test
