#include "codec/compressor/blosclz_encoder.h"

#include <algorithm>
#include <cstdint>
#include <random>

#include "tests/support/blosclz_reference.h"
#include "tests/support/catch.h"
#include "tests/support/plain_kinds.h"

namespace framefs::codec::blosclz_encoder_test {
namespace {

using test::Bytes;
using test::draw;
using test::PlainKind;

Bytes encoded(BlosclzEncoder& encoder, int level, const Bytes& plain, std::size_t room) {
  constexpr std::size_t kGuard = 64;
  constexpr std::byte kOld{0xee};
  Bytes out(room + kGuard, kOld);
  const auto size = encoder.encode(level, plain, std::span(out).first(room));
  REQUIRE(size <= room);
  REQUIRE(std::ranges::all_of(std::span(out).subspan(room), [&](auto b) { return b == kOld; }));
  out.resize(size);
  return out;
}

// Oracle: the byte-by-byte decoder of tests/support, which refuses a stream that ends in a match.
void check_round_trip(BlosclzEncoder& encoder, int level, const Bytes& plain) {
  const auto stream = encoded(encoder, level, plain, plain.size());
  if (stream.empty()) return;
  const auto decoded = test::blosclz_reference(stream, plain.size());
  REQUIRE(decoded);
  REQUIRE(*decoded == plain);
}

TEST_CASE("blosclz_encoder: the reference reader decodes streams of every level",
          "[codec][blosclz_encoder][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  BlosclzEncoder encoder;
  for (int level = 1; level <= 9; ++level) {
    for (const auto kind : test::kPlainKinds) {
      for (const std::size_t size : std::initializer_list<std::size_t>{
               0, 1, 16, 63, 64, 65, 100, 1000, 8191, 8300, 65536, 200001}) {
        CAPTURE(level, test::plain_kind_name(kind), size);
        check_round_trip(encoder, level,
                         test::plain_bytes(kind, size, 1 + draw(random) % 9, draw(random)));
      }
    }
  }
}

TEST_CASE("blosclz_encoder: matches of every length and distance class are decoded rightly",
          "[codec][blosclz_encoder][unit]") {
  BlosclzEncoder encoder;
  std::mt19937 random(3);
  const std::size_t lengths[] = {4, 5, 6, 7, 8, 9, 10, 263, 264, 265, 518, 519, 520, 5000};
  const std::size_t distances[] = {1,    2,    7,    31,   255,   256,   257,   8190,
                                   8191, 8192, 8193, 9000, 70000, 73726, 73727, 73728};
  for (const auto length : lengths) {
    for (const auto distance : distances) {
      // Noise in which the same `length` bytes occur twice, at this distance.
      auto plain = test::noise(200 + distance + length, draw(random));
      for (std::size_t i = 0; i < length; ++i) plain[100 + distance + i] = plain[100 + i];
      auto padded = plain;
      padded.resize(padded.size() + padded.size() / 8 + 2000);  // zeros, so that encoding pays off
      CAPTURE(length, distance);
      const auto stream = encoded(encoder, 9, padded, padded.size());
      REQUIRE_FALSE(stream.empty());
      CHECK(test::blosclz_reference(stream, padded.size()) == padded);
    }
  }
}

TEST_CASE("blosclz_encoder: a stream does not depend on the ones before",
          "[codec][blosclz_encoder][unit]") {
  BlosclzEncoder used;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const auto plain = test::plain_bytes(PlainKind::mixed, 30000, 4, seed);
    for (const int level : {1, 5, 9}) {
      BlosclzEncoder fresh;
      CHECK(encoded(used, level, plain, plain.size()) ==
            encoded(fresh, level, plain, plain.size()));
    }
  }
}

TEST_CASE("blosclz_encoder: gives up where there is nothing to gain",
          "[codec][blosclz_encoder][unit]") {
  BlosclzEncoder encoder;
  for (int level = 1; level <= 9; ++level) {
    CHECK(encoded(encoder, level, test::noise(65536, 1), 65536).empty());
    CHECK(encoded(encoder, level, test::counting(63), 63).empty());
  }
}

TEST_CASE("blosclz_encoder: gives up where the room is too small, and only there",
          "[codec][blosclz_encoder][unit]") {
  BlosclzEncoder encoder;
  const auto plain = test::sample_text(5000, 1);
  const auto whole = encoded(encoder, 5, plain, plain.size());
  REQUIRE_FALSE(whole.empty());
  for (std::size_t room = 0; room < plain.size(); room += 7) {
    const auto stream = encoded(encoder, 5, plain, room);
    CAPTURE(room);
    if (room < whole.size()) CHECK(stream.empty());
    // Wide copies need some room beyond the end.
    if (room >= whole.size() + 64) CHECK(stream == whole);
  }
}

TEST_CASE("blosclz_encoder: repetitive data get short", "[codec][blosclz_encoder][unit]") {
  BlosclzEncoder encoder;
  const auto size_of = [&](int level, const Bytes& plain) {
    return encoded(encoder, level, plain, plain.size()).size();
  };
  for (int level = 1; level <= 9; ++level) {
    CAPTURE(level);
    const auto text_size = size_of(level, test::sample_text(65536, 1));
    CHECK(text_size > 0);
    CHECK(text_size < 65536 * 2 / 3);
    const auto times_size = size_of(level, test::sample_shuffled_times(8192, 1));
    CHECK(times_size > 0);
    CHECK(times_size < 65536 / 3);
    const auto run_size = size_of(level, Bytes(65536, std::byte{7}));
    CHECK(run_size > 0);
    CHECK(run_size < 400);
  }
}

}  // namespace
}  // namespace framefs::codec::blosclz_encoder_test
