#include "codec/compressor/blosclz.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/blosclz_encoder.h"
#include "tests/support/blosclz_reference.h"
#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"
#include "tests/support/stream_samples.h"
#include "tests/unit/codec/stream_checks.h"

namespace framefs::codec::blosclz_test {
namespace {

using test::append_blosclz_literals;
using test::append_blosclz_match;
using test::Bytes;
using test::counting;
using test::noise;
using test::text_bytes;

Bytes stream_of(std::initializer_list<unsigned> values) {
  Bytes out;
  for (const auto value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

Bytes joined(const std::vector<Bytes>& parts) {
  Bytes out;
  for (const auto& part : parts) test::append(out, part);
  return out;
}

Bytes repeated(std::string_view text, std::size_t times) {
  Bytes out;
  for (std::size_t i = 0; i < times; ++i) test::append(out, text);
  return out;
}

// A run of `count` literals whose values do not matter.
Bytes literal_run(std::size_t count) {
  Bytes stream;
  append_blosclz_literals(stream, counting(count));
  return stream;
}

std::string decode(const Bytes& stream, std::size_t size) {
  return test::outcome(decode_alone(decode_blosclz, stream, size));
}

// Oracle: the byte-by-byte decoder, for this output size and for the size that fits the stream.
void check_against_reference(const Bytes& stream, std::size_t room) {
  std::vector<std::size_t> sizes{room};
  if (const auto fits = test::blosclz_reference(stream, room)) sizes.push_back(fits->size());
  for (const auto size : sizes) {
    INFO("room for " << size << " bytes");
    const auto expected = test::blosclz_reference(stream, size);
    const bool good = expected && expected->size() == size;
    const auto alone = decode_alone(decode_blosclz, stream, size);
    const auto guarded = decode_guarded(decode_blosclz, stream, size);
    REQUIRE(alone.has_value() == good);
    REQUIRE(guarded.has_value() == good);
    if (good) {
      REQUIRE(*alone == *expected);
      REQUIRE(*guarded == *expected);
    } else {
      REQUIRE(alone.error().at <= stream.size());
    }
  }
}

// Oracle: streams written by hand from the format's description.
TEST_CASE("blosclz: hand-written streams decode", "[codec][blosclz][unit]") {
  struct Golden {
    const char* what;
    Bytes stream;
    Bytes plain;
  };
  const Bytes a8191 = noise(8191, 1);
  const Bytes a8192 = noise(8192, 2);
  const Bytes a73727 = noise(73727, 3);
  const auto literals = [](const Bytes& bytes) {
    Bytes stream;
    append_blosclz_literals(stream, bytes);
    return stream;
  };
  const auto first = [](const Bytes& bytes, std::size_t n) {
    return Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
  };
  const std::vector<Golden> table{
      {"one literal", stream_of({0x20, 'x'}), text_bytes("x")},
      {"three literals", stream_of({0x22, 'a', 'b', 'c'}), text_bytes("abc")},
      {"two runs", stream_of({0x21, 'a', 'b', 0x00, 'c'}), text_bytes("abc")},
      {"longest run", joined({stream_of({31}), counting(32)}), counting(32)},
      {"shortest match", stream_of({0x22, 'a', 'b', 'c', 0x20, 0x02, 0x00, '!'}),
       text_bytes("abcabc!")},
      {"short match of eight", stream_of({0x23, 'a', 'b', 'c', 'd', 0xc0, 0x03, 0x00, '!'}),
       text_bytes("abcdabcdabcd!")},
      {"long match of nine", stream_of({0x20, 'a', 0xe0, 0x00, 0x00, 0x00, '!'}),
       text_bytes("aaaaaaaaaa!")},
      {"length of one more byte", stream_of({0x21, 'a', 'b', 0xe0, 0x05, 0x01, 0x00, '!'}),
       joined({repeated("ab", 8), text_bytes("!")})},
      {"length byte of 254", stream_of({0x20, 'a', 0xe0, 0xfe, 0x00, 0x00, '!'}),
       joined({repeated("a", 1 + 263), text_bytes("!")})},
      {"length bytes of 255 and 0", stream_of({0x20, 'a', 0xe0, 0xff, 0x00, 0x00, 0x00, '!'}),
       joined({repeated("a", 1 + 264), text_bytes("!")})},
      {"length bytes of 255, 255 and 2",
       stream_of({0x21, 'a', 'b', 0xe0, 0xff, 0xff, 0x02, 0x01, 0x00, '!'}),
       joined({repeated("ab", 1 + 260), text_bytes("a!")})},
      {"match after match", stream_of({0x21, 'a', 'b', 0x20, 0x01, 0x40, 0x04, 0x00, '!'}),
       text_bytes("ababaabab!")},
      {"distance 256", joined({literals(counting(256)), stream_of({0x20, 0xff, 0x00, '!'})}),
       joined({counting(256), first(counting(3), 3), text_bytes("!")})},
      {"distance 257 in the low bits of the control byte",
       joined({literals(counting(257)), stream_of({0x21, 0x00, 0x00, '!'})}),
       joined({counting(257), first(counting(3), 3), text_bytes("!")})},
      {"longest near distance", joined({literals(a8191), stream_of({0x3f, 0xfe, 0x00, '!'})}),
       joined({a8191, first(a8191, 3), text_bytes("!")})},
      {"shortest far distance",
       joined({literals(a8192), stream_of({0x3f, 0xff, 0x00, 0x00, 0x00, '!'})}),
       joined({a8192, first(a8192, 3), text_bytes("!")})},
      {"longest far distance, long match",
       joined({literals(a73727), stream_of({0xff, 0x01, 0xff, 0xff, 0xff, 0x00, '!'})}),
       joined({a73727, first(a73727, 10), text_bytes("!")})},
      {"far distance with the high byte first",
       joined({literals(a73727), stream_of({0x3f, 0xff, 0xff, 0x00, 0x00, '!'})}),
       joined({a73727, Bytes(a73727.begin() + 255, a73727.begin() + 258), text_bytes("!")})},
  };
  for (const auto& golden : table) {
    INFO(golden.what);
    const auto plain = decode_guarded(decode_blosclz, golden.stream, golden.plain.size());
    REQUIRE(plain);
    CHECK(*plain == golden.plain);
    CHECK(decode_alone(decode_blosclz, golden.stream, golden.plain.size()));
    check_other_sizes_refused(decode_blosclz, golden.stream, golden.plain.size());
  }
}

// Oracle: the top three bits of the first byte only mark the level.
TEST_CASE("blosclz: the level mark of the first byte is ignored", "[codec][blosclz][unit]") {
  for (unsigned level = 0; level < 8; ++level) {
    INFO("level mark " << level);
    const auto stream = stream_of({level << 5 | 3, 'a', 'b', 'c', 'd', 0x20, 0x03, 0x00, '!'});
    const auto plain = decode_alone(decode_blosclz, stream, 8);
    REQUIRE(plain);
    CHECK(*plain == text_bytes("abcdabc!"));
  }
}

// Oracle: current readers ignore a match at the end of the stream, so its output is too short.
TEST_CASE("blosclz: a match at the end of the stream is refused", "[codec][blosclz][corrupt]") {
  const Bytes start = literal_run(8200);
  const std::vector<Bytes> matches{
      stream_of({0x20, 0x00}),              // near
      stream_of({0xe0, 0x04, 0x00}),        // long
      stream_of({0x3f, 0xff, 0x00, 0x00}),  // far
      stream_of({0xff, 0xff, 0x03, 0xff, 0x00, 0x00}),
  };
  for (const auto& match : matches) {
    const Bytes stream = joined({start, match});
    const auto match_at = std::to_string(start.size());
    // With the size that includes the match, and with the size that does not.
    for (const std::size_t size : {8200U, 8203U, 8213U, 8464U, 8467U}) {
      INFO(match.size() << " bytes, room for " << size);
      CHECK(decode(stream, size) == "truncated: blosclz match at " + match_at);
      check_against_reference(stream, size);
    }
  }
}

// Oracle: as above.  The length bytes alone lead the decoder from the safe area to the stream's
// end.
TEST_CASE("blosclz: a long length at the end of the stream is refused",
          "[codec][blosclz][corrupt]") {
  const Bytes start = literal_run(8200);
  const auto match_at = std::to_string(start.size());
  for (std::size_t length_bytes = 25; length_bytes <= 45; ++length_bytes) {
    for (const auto& distance : {stream_of({0x00}), stream_of({0xff, 0x00, 0x05})}) {
      INFO(length_bytes << " bytes of length, " << distance.size() << " of distance");
      Bytes match = stream_of({distance.size() == 1 ? 0xe0U : 0xffU});
      match.resize(match.size() + length_bytes, std::byte{255});
      match = joined({match, stream_of({0x07}), distance});
      const std::size_t with_match = 8200 + 9 + 255 * length_bytes + 7;
      // All of the match, or a part of it; as much room as the match fills, or more.
      for (std::size_t n = 1; n <= match.size(); ++n) {
        const Bytes part(match.begin(), match.begin() + static_cast<std::ptrdiff_t>(n));
        for (const auto size : {with_match, with_match + 1000}) {
          REQUIRE(decode(joined({start, part}), size) == "truncated: blosclz match at " + match_at);
        }
      }
      REQUIRE(decode(joined({start, match, stream_of({0x00, '!'})}), with_match + 1) == "ok");
    }
  }
}

// Oracle: the conditions of the format, each on its own.
TEST_CASE("blosclz: an error names the field and its place", "[codec][blosclz][corrupt]") {
  struct Bad {
    Bytes stream;
    std::size_t size;
    const char* outcome;
  };
  const std::vector<Bad> table{
      {{}, 0, "truncated: blosclz stream at 0"},
      {{}, 5, "truncated: blosclz stream at 0"},
      {stream_of({0x20}), 1, "truncated: blosclz literal run at 0"},
      {stream_of({0x20, 'a'}), 0, "bad field: blosclz literal run at 0"},
      {stream_of({0x22, 'a', 'b'}), 3, "truncated: blosclz literal run at 0"},
      {stream_of({0x22, 'a', 'b', 'c'}), 2, "bad field: blosclz literal run at 0"},
      {stream_of({0x20, 'a', 0x01, 'b'}), 3, "truncated: blosclz literal run at 2"},
      {stream_of({0x20, 'a', 0x01, 'b', 'c'}), 2, "bad field: blosclz literal run at 2"},
      {stream_of({0x20, 'a', 0x00}), 2, "truncated: blosclz literal run at 2"},
      {stream_of({0x20, 'a', 0x00, 'b'}), 3, "bad field: blosclz decoded size at 4"},
      {stream_of({0x20, 'a', 0x20}), 4, "truncated: blosclz match at 2"},
      {stream_of({0x20, 'a', 0xe0}), 4, "truncated: blosclz match at 2"},
      {stream_of({0x20, 'a', 0xe0, 0xff}), 4, "truncated: blosclz match at 2"},
      {stream_of({0x20, 'a', 0xe0, 0xff, 0xff, 0xff}), 4, "truncated: blosclz match at 2"},
      {stream_of({0x20, 'a', 0x3f, 0xff, 0x00}), 4, "truncated: blosclz match at 2"},
      {stream_of({0x20, 'a', 0x20, 0x01, 0x00, 'b'}), 5, "bad field: blosclz match distance at 2"},
      {stream_of({0x20, 'a', 0x3f, 0xff, 0, 0, 0, 'b'}), 5,
       "bad field: blosclz match distance at 2"},
      {stream_of({0x20, 'a', 0x20, 0x00, 0x00, 'b'}), 3, "bad field: blosclz match length at 2"},
      {stream_of({0x20, 'a', 0xe0, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 'b'}), 200,
       "bad field: blosclz match length at 2"},
  };
  for (const auto& bad : table) {
    INFO("stream of " << bad.stream.size() << " bytes, room for " << bad.size);
    CHECK(decode(bad.stream, bad.size) == bad.outcome);
    check_against_reference(bad.stream, bad.size);
  }
}

// Oracle: as above, where the wide decoder meets the error first.
TEST_CASE("blosclz: an error in the middle is named too", "[codec][blosclz][corrupt]") {
  const Bytes start = literal_run(64);  // 66 bytes
  const Bytes end = literal_run(200);
  const auto outcome = [&](std::initializer_list<unsigned> operation, std::size_t size) {
    return decode(joined({start, stream_of(operation), end}), size);
  };
  CHECK(outcome({0x20, 0x3f}, 64 + 3 + 200) == "ok");
  CHECK(outcome({0x20, 0x40}, 64 + 3 + 200) == "bad field: blosclz match distance at 66");
  CHECK(outcome({0xe0, 0x00, 0x40}, 64 + 9 + 200) == "bad field: blosclz match distance at 66");
  CHECK(outcome({0x3f, 0xff, 0, 0}, 64 + 3 + 200) == "bad field: blosclz match distance at 66");
  CHECK(outcome({0xe0, 0xff, 0xff, 0x00, 0x00}, 64 + 518) ==
        "bad field: blosclz match length at 66");
  CHECK(outcome({0xe0, 0xff, 0xff, 0x00, 0x00}, 64 + 519) ==
        "bad field: blosclz literal run at 71");
  CHECK(outcome({0xe0, 0xff, 0xff, 0x00, 0x00}, 64 + 519 + 200) == "ok");
}

// Oracle: a length is an unbounded sum of bytes, but the output is bounded.
TEST_CASE("blosclz: an enormous length is refused", "[codec][blosclz][corrupt]") {
  for (const std::size_t length_bytes : {100U, 1U << 20, 17U << 20}) {
    Bytes stream = stream_of({0x20, 'a', 0xe0});
    stream.resize(stream.size() + length_bytes, std::byte{255});
    CHECK(decode(stream, 1000) == "truncated: blosclz match at 2");
    test::append(stream, stream_of({0x00, 0x00, 0x00, 'b'}));
    CHECK(decode(stream, 1000) == "bad field: blosclz match length at 2");
  }
}

// Oracle: a match is copied byte by byte, so a match longer than its distance repeats the bytes.
TEST_CASE("blosclz: overlapping matches repeat the bytes before them", "[codec][blosclz][unit]") {
  std::vector<std::size_t> lengths;
  for (std::size_t length = test::kBlosclzShortestMatch; length <= 100; ++length) {
    lengths.push_back(length);
  }
  for (const std::size_t length : {263U, 264U, 265U, 519U, 1000U, 4099U}) lengths.push_back(length);
  for (std::size_t distance = 1; distance <= 40; ++distance) {
    for (const auto length : lengths) {
      for (const std::size_t after : {1U, 31U, 32U, 33U, 64U, 100U}) {
        INFO("distance " << distance << ", length " << length << ", then " << after);
        const Bytes before = noise(distance, static_cast<std::uint32_t>(distance));
        Bytes stream;
        append_blosclz_literals(stream, before);
        append_blosclz_match(stream, length, distance);
        append_blosclz_literals(stream, counting(after));
        Bytes expected = before;
        for (std::size_t i = 0; i < length; ++i) expected.push_back(expected[i]);
        test::append(expected, counting(after));
        const auto plain = decode_alone(decode_blosclz, stream, expected.size());
        REQUIRE(plain);
        REQUIRE(*plain == expected);
      }
    }
  }
}

// Oracle: the bytes that were encoded.
TEST_CASE("blosclz: encoded data come back, of any size", "[codec][blosclz][unit]") {
  std::vector<Bytes> samples;
  for (std::size_t size = 1; size <= 300; ++size) {
    samples.push_back(test::sample_text(size, static_cast<std::uint32_t>(size)));
    samples.push_back(repeated("x", size));
    samples.push_back(test::ramp(size, 4));
  }
  samples.push_back(test::sample_text(200'000, 1));
  samples.push_back(test::sample_shuffled_floats(30'000, 1));
  samples.push_back(test::sample_shuffled_times(30'000, 1));
  samples.push_back(noise(50'000, 1));
  samples.push_back(repeated("0123456789abcdefg", 20'000));
  const Bytes far = noise(70'000, 5);
  samples.push_back(joined({far, far, far}));
  for (const auto& sample : samples) {
    const Bytes stream = test::blosclz_encode(sample);
    INFO("sample of " << sample.size() << " bytes in " << stream.size());
    const auto plain = decode_alone(decode_blosclz, stream, sample.size());
    REQUIRE(plain);
    REQUIRE(*plain == sample);
    const auto guarded = decode_guarded(decode_blosclz, stream, sample.size());
    REQUIRE(guarded);
    REQUIRE(*guarded == sample);
    check_other_sizes_refused(decode_blosclz, stream, sample.size());
  }
}

TEST_CASE("blosclz: every truncated prefix is refused", "[codec][blosclz][corrupt]") {
  for (const auto& sample : {test::sample_text(3000, 3), test::sample_shuffled_floats(400, 3),
                             repeated("abc", 1000), noise(200, 3)}) {
    check_prefixes_refused(decode_blosclz, test::blosclz_encode(sample), sample.size());
  }
}

TEST_CASE("blosclz: flipped bits give the bytes that the format defines, or an error",
          "[codec][blosclz][corrupt]") {
  for (const auto& sample : {test::sample_text(700, 4), test::sample_shuffled_floats(90, 4),
                             test::sample_shuffled_times(150, 4), repeated("abc", 300)}) {
    Bytes stream = test::blosclz_encode(sample);
    for (std::size_t bit = 0; bit < 8 * stream.size(); ++bit) {
      INFO("bit " << bit % 8 << " of byte " << bit / 8);
      const auto mask = static_cast<std::byte>(1U << (bit % 8));
      stream[bit / 8] ^= mask;
      check_against_reference(stream, sample.size());
      stream[bit / 8] ^= mask;
    }
  }
}

// A stream of random operations, most of which are valid at their position.
Bytes random_stream(std::mt19937& random) {
  Bytes stream;
  const auto append_literals = [&](std::size_t count) {
    append_blosclz_literals(stream, noise(count, static_cast<std::uint32_t>(random())));
  };
  std::size_t produced = 1 + random() % 60;
  append_literals(produced);
  const auto operations = random() % 40;
  for (std::size_t i = 0; i < operations; ++i) {
    const auto small = [&] {
      const std::size_t bound = random() % 8 == 0 ? 2000 : 40;
      return 1 + random() % bound;
    };
    if (random() % 2 == 0) {
      const auto count = small();
      append_literals(count);
      produced += count;
    } else {
      const auto length = test::kBlosclzShortestMatch - 1 + small();
      const auto reach = random() % 64 == 0 ? produced + 20 : produced;
      const auto wanted = random() % 2 == 0 ? small() : random() % test::kBlosclzLongestDistance;
      append_blosclz_match(stream, length, 1 + wanted % reach);
      produced += length;
    }
  }
  if (random() % 8 != 0) append_literals(1 + random() % 80);
  return stream;
}

TEST_CASE("blosclz: random streams decode as the reference does", "[codec][blosclz][unit]") {
  constexpr std::size_t kRoom = 100'000;
  for (std::uint32_t seed = 1; seed <= 3000; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const Bytes stream = random_stream(random);
    check_against_reference(stream, kRoom);
  }
}

TEST_CASE("blosclz: mutated streams decode as the reference does", "[codec][blosclz][corrupt]") {
  constexpr std::size_t kRoom = 20'000;
  for (std::uint32_t seed = 1; seed <= 6000; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    Bytes stream = random_stream(random);
    for (auto changes = 1 + random() % 6; changes > 0; --changes) {
      stream[random() % stream.size()] = static_cast<std::byte>(random());
    }
    if (random() % 4 == 0) stream.resize(1 + random() % stream.size());
    check_against_reference(stream, kRoom);
  }
}

}  // namespace
}  // namespace framefs::codec::blosclz_test
