#include "codec/core/byte_reader.h"

#include <cstdint>
#include <limits>

#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/outcome.h"

namespace framefs::codec::byte_reader_test {
namespace {

using test::Bytes;
using test::outcome;

Bytes sample() {
  Bytes bytes;
  for (const unsigned b : {0xf1U, 0x82U, 0x03U, 0x04U, 0x05U, 0x06U, 0x07U, 0x88U, 0x99U}) {
    bytes.push_back(static_cast<std::byte>(b));
  }
  return bytes;
}

// Oracle: the numbers written by hand, also at an odd address.
TEST_CASE("byte_reader: load composes numbers in both byte orders at any alignment",
          "[codec][byte_reader][unit]") {
  const Bytes bytes = sample();
  const std::byte* at = bytes.data();
  CHECK(load_le<std::uint8_t>(at) == 0xf1);
  CHECK(load_be<std::uint8_t>(at) == 0xf1);
  CHECK(load_le<std::int8_t>(at) == -15);
  CHECK(load_le<std::uint16_t>(at) == 0x82f1);
  CHECK(load_be<std::uint16_t>(at) == 0xf182);
  CHECK(load_be<std::int16_t>(at) == -3710);
  CHECK(load_le<std::uint32_t>(at + 1) == 0x05040382U);
  CHECK(load_be<std::uint32_t>(at + 1) == 0x82030405U);
  CHECK(load_le<std::int32_t>(at) == 0x040382f1);
  CHECK(load_be<std::int32_t>(at) == -243137788);
  CHECK(load_le<std::uint64_t>(at + 1) == 0x9988070605040382ULL);
  CHECK(load_be<std::uint64_t>(at + 1) == 0x8203040506078899ULL);
  CHECK(load_le<std::int64_t>(at + 1) < 0);
}

TEST_CASE("byte_reader: fields follow one another in the order they are asked for",
          "[codec][byte_reader][unit]") {
  const Bytes bytes = sample();
  ByteReader in(bytes);
  CHECK(in.remaining() == 9);
  CHECK(in.u8("a").value() == 0xf1);
  CHECK(in.le<std::uint16_t>("b").value() == 0x0382);
  CHECK(in.be<std::uint32_t>("c").value() == 0x04050607U);
  CHECK(in.position() == 7);
  const auto rest = in.take(2, "d");
  REQUIRE(rest);
  CHECK(rest->data() == bytes.data() + 7);
  CHECK(in.remaining() == 0);
  CHECK(in.take(0, "e")->empty());
}

TEST_CASE("byte_reader: a field past the end is refused and moves nothing",
          "[codec][byte_reader][corrupt]") {
  const Bytes bytes = sample();
  for (std::size_t left = 0; left < 8; ++left) {
    INFO(left << " bytes left");
    ByteReader in(bytes);
    REQUIRE(in.take(9 - left, "skip"));
    const auto where = std::to_string(9 - left);
    CHECK(outcome(in.le<std::int64_t>("x")) == "truncated: x at " + where);
    CHECK(outcome(in.be<std::uint64_t>("y")) == "truncated: y at " + where);
    CHECK(outcome(in.take(left + 1, "z")) == "truncated: z at " + where);
    CHECK(in.position() == 9 - left);
    CHECK(in.take(left, "rest").has_value());
  }
}

// A bound written as a sum would wrap here and let the read through.
TEST_CASE("byte_reader: a length near the largest number is refused",
          "[codec][byte_reader][corrupt]") {
  const Bytes bytes = sample();
  ByteReader in(bytes);
  REQUIRE(in.u8("first"));
  constexpr auto kMax = std::numeric_limits<std::size_t>::max();
  CHECK(outcome(in.take(kMax, "n")) == "truncated: n at 1");
  CHECK(outcome(in.take(kMax - 1, "n")) == "truncated: n at 1");
  CHECK(outcome(ByteReader({}).u8("none")) == "truncated: none at 0");
}

}  // namespace
}  // namespace framefs::codec::byte_reader_test
