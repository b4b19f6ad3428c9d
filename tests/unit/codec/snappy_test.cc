#include "codec/compressor/snappy.h"

#include <snappy-c.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>

#include "codec/chunk/chunk.h"
#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/decode_oracle.h"
#include "tests/support/outcome.h"
#include "tests/support/random_seed.h"
#include "tests/support/sample_data.h"
#include "tests/support/stream_encoder.h"
#include "tests/support/stream_samples.h"
#include "tests/unit/codec/stream_checks.h"

namespace framefs::codec::snappy_test {
namespace {

using test::Bytes;
using test::Codec;

Bytes compressed(const Bytes& plain) { return test::compress_stream(Codec::snappy, 0, plain, {}); }

// decode_snappy_prefix() for streams of `size` bytes.  Only the beginning of the output is
// compared.
Decode prefix_of(std::size_t size) {
  return [size](std::span<const std::byte> in, std::span<std::byte> head) -> Status {
    Bytes out(size, head.empty() ? std::byte{0} : head.front());
    FRAMEFS_CHECK(decode_snappy_prefix(in, out, head.size()));
    std::ranges::copy(std::span(out).first(head.size()), head.begin());
    return {};
  };
}

// Decodes with the Snappy library a stream whose content has `size` bytes.
std::optional<Bytes> library_decodes(const Bytes& stream, std::size_t size) {
  std::size_t announced = 0;
  const auto* const from = test::as_chars(stream.data());
  if (snappy_uncompressed_length(from, stream.size(), &announced) != SNAPPY_OK) return {};
  if (announced != size) return {};
  Bytes out(size);
  if (snappy_uncompress(from, stream.size(), test::as_chars(out.data()), &announced) != SNAPPY_OK) {
    return {};
  }
  return out;
}

// Content of `size` bytes, of one of several kinds.
Bytes sample(std::size_t size, std::uint32_t kind) {
  if (kind % 3 == 0) return test::ramp(size, 4, kind);
  if (kind % 3 == 1) return test::sample_text(size, kind);
  return Bytes(size, static_cast<std::byte>(kind));
}

// Oracle: the bytes that went into the library.
TEST_CASE("snappy: streams of the library are decoded, whole and in part",
          "[codec][snappy][unit]") {
  for (const std::size_t size : {1U, 3U, 60U, 61U, 100U, 257U, 5000U, 65535U, 65537U, 300000U}) {
    for (std::uint32_t kind = 0; kind < 6; ++kind) {
      INFO(size << " bytes, kind " << kind);
      const Bytes plain = sample(size, kind);
      const Bytes stream = compressed(plain);
      const auto whole = decode_guarded(decode_snappy, stream, size);
      REQUIRE(whole);
      REQUIRE(*whole == plain);
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, size / 3, size - 1}) {
        const auto head = decode_guarded(prefix_of(size), stream, count);
        REQUIRE(head);
        REQUIRE(std::ranges::equal(*head, std::span(plain).first(count)));
      }
    }
  }
}

TEST_CASE("snappy: truncated and damaged streams, and other sizes, are refused",
          "[codec][snappy][corrupt]") {
  for (std::uint32_t kind = 0; kind < 3; ++kind) {
    const Bytes plain = sample(700, kind);
    const Bytes stream = compressed(plain);
    check_other_sizes_refused(decode_snappy, stream, plain.size());
    check_prefixes_refused(decode_snappy, stream, plain.size());
    check_bit_flips(decode_snappy, stream, plain.size());
    check_bit_flips(prefix_of(plain.size()), stream, plain.size() / 2);
  }
}

Bytes bytes_of(std::initializer_list<unsigned> values) {
  Bytes out;
  for (const auto value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

// Oracle: the description of the format.  The library writes neither long distances nor literal
// counts of three and four bytes for blocks of usual sizes.
TEST_CASE("snappy: every kind of element is decoded", "[codec][snappy][unit]") {
  const auto decodes = [](std::initializer_list<unsigned> stream, const char* plain) {
    const Bytes expected = test::text_bytes(plain);
    const auto decoded = decode_guarded(decode_snappy, bytes_of(stream), expected.size());
    return decoded && *decoded == expected;
  };
  CHECK(decodes({2, 1 << 2, 'a', 'b'}, "ab"));
  CHECK(decodes({2, 60 << 2, 1, 'a', 'b'}, "ab"));           // a count of one byte
  CHECK(decodes({2, 61 << 2, 1, 0, 'a', 'b'}, "ab"));        // of two
  CHECK(decodes({2, 62 << 2, 1, 0, 0, 'a', 'b'}, "ab"));     // of three
  CHECK(decodes({2, 63 << 2, 1, 0, 0, 0, 'a', 'b'}, "ab"));  // of four
  CHECK(decodes({7, 1 << 2, 'a', 'b', 1 | (1 << 2), 2}, "abababa"));
  CHECK(decodes({5, 1 << 2, 'a', 'b', 2 | (2 << 2), 1, 0}, "abbbb"));
  CHECK(decodes({3, 1 << 2, 'a', 'b', 3 | (0 << 2), 2, 0, 0, 0}, "aba"));
  CHECK(decodes({0x82, 0x80, 0, 1 << 2, 'a', 'b'}, "ab"));  // a size of more bytes than it needs
}

TEST_CASE("snappy: a near match has a distance of eleven bits", "[codec][snappy][unit]") {
  const Bytes plain = test::sample_text(0x700, 1);
  Bytes stream = bytes_of({0x84, 0x0e, 61U << 2, 0xff, 0x06});
  test::append(stream, plain);
  test::append(stream, bytes_of({1U | (6U << 5), 0x02}));  // four bytes, 0x602 before
  const auto decoded = decode_guarded(decode_snappy, stream, plain.size() + 4);
  REQUIRE(decoded);
  CHECK(std::ranges::equal(std::span(*decoded).last(4),
                           std::span(plain).subspan(plain.size() - 0x602, 4)));
}

TEST_CASE("snappy: each error names its place", "[codec][snappy][corrupt]") {
  const auto outcome = [](std::initializer_list<unsigned> stream, std::size_t size) {
    return test::outcome(decode_guarded(decode_snappy, bytes_of(stream), size));
  };
  CHECK(outcome({}, 4) == "truncated: snappy decoded size at 0");
  CHECK(outcome({0x84}, 4) == "truncated: snappy decoded size at 1");
  CHECK(outcome({0x84, 0x80, 0x80, 0x80, 0x80, 0}, 4) == "bad field: snappy decoded size at 0");
  CHECK(outcome({5, 3 << 2, 'a', 'b', 'c', 'd'}, 4) == "bad field: snappy decoded size at 0");
  CHECK(outcome({4, 3 << 2, 'a', 'b', 'c'}, 4) == "truncated: snappy literals at 1");
  CHECK(outcome({4, 4 << 2, 'a', 'b', 'c', 'd', 'e'}, 4) == "bad field: snappy literals at 1");
  CHECK(outcome({4, 61 << 2, 3}, 4) == "truncated: snappy element at 1");
  CHECK(outcome({4, 63 << 2, 255, 255, 255, 255, 'a'}, 4) == "truncated: snappy literals at 1");
  CHECK(outcome({4, 0, 'a', 1 | (0 << 2)}, 4) == "truncated: snappy element at 3");
  CHECK(outcome({4, 0, 'a', 2 | (2 << 2), 0, 0}, 4) == "bad field: snappy match distance at 3");
  CHECK(outcome({4, 0, 'a', 2 | (2 << 2), 2, 0}, 4) == "bad field: snappy match distance at 3");
  CHECK(outcome({4, 0, 'a', 2 | (3 << 2), 1, 0}, 4) == "bad field: snappy match length at 3");
  CHECK(outcome({4, 0, 'a'}, 4) == "truncated: snappy stream at 3");
}

// Oracle: the library, for every stream; for a prefix, the decoded whole.
TEST_CASE("snappy: any damage is taken as the library takes it, and shows no old bytes",
          "[codec][snappy][corrupt]") {
  const auto seed = test::random_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 3000; ++round) {
    INFO("round " << round);
    const std::size_t size = 20 + random() % 400;
    Bytes stream = compressed(sample(size, static_cast<std::uint32_t>(random() % 50)));
    for (auto flips = random() % 4; flips > 0; --flips) {
      const auto value = random() % 3 == 0 ? 0 : random();
      stream[random() % stream.size()] = static_cast<std::byte>(value);
    }
    const auto expected = library_decodes(stream, size);
    const auto whole = decode_guarded(decode_snappy, stream, size);
    REQUIRE(whole.has_value() == expected.has_value());
    if (whole) REQUIRE(*whole == *expected);
    const std::size_t count = random() % size;
    const auto head = decode_guarded(prefix_of(size), stream, count);
    if (whole) REQUIRE(head);
    if (whole) REQUIRE(std::ranges::equal(*head, std::span(*whole).first(count)));
  }
}

}  // namespace
}  // namespace framefs::codec::snappy_test
