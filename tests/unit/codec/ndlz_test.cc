#include "codec/compressor/ndlz.h"

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/ndlz_encoder.h"
#include "tests/support/outcome.h"
#include "tests/support/random_seed.h"
#include "tests/support/sample_data.h"
#include "tests/unit/codec/filter_checks.h"
#include "tests/unit/codec/stream_checks.h"

namespace framefs::codec::ndlz_test {
namespace {

using test::append;
using test::append_le;
using test::Bytes;
using test::counting;
using test::encode_ndlz;
using test::outcome;
using Shape = std::array<std::uint32_t, 2>;

constexpr std::size_t kHeadBytes = 9;  // the number of dimensions, and two sizes

Decode with(std::uint8_t side) {
  return [side](std::span<const std::byte> in, std::span<std::byte> out) {
    return decode_ndlz(side, in, out);
  };
}

Bytes head(std::int32_t rows, std::int32_t columns) {
  Bytes out = {std::byte{2}};
  append_le(out, rows);
  append_le(out, columns);
  return out;
}

// Two cells side by side.  The first is literal and counts from 0: it starts at 10, and the second
// token is at 10 + side * side.  The bytes after that token are 100, 101, ... except the two
// offsets.
constexpr std::size_t kFirstCellAt = kHeadBytes + 1;

Bytes two_cells(std::size_t side, unsigned token, std::uint16_t offset, std::uint16_t offset2) {
  Bytes out = head(static_cast<std::int32_t>(side), static_cast<std::int32_t>(2 * side));
  out.push_back(std::byte{0});
  append(out, counting(side * side));
  out.push_back(static_cast<std::byte>(token));
  append_le(out, offset);
  append_le(out, offset2);
  for (std::size_t i = 0; i < side * side; ++i) out.push_back(static_cast<std::byte>(100 + i));
  return out;
}

// The second of the two cells, row by row.
Bytes second_cell(std::size_t side, const Bytes& plane) {
  Bytes out;
  for (std::size_t row = 0; row < side; ++row) {
    append(out, std::span(plane).subspan((2 * row + 1) * side, side));
  }
  return out;
}

// The rows of the second cell according to a row token: these rows come from the first cell, and
// literal rows follow.  Nothing for other tokens.
// Source: chunk format, "Plugin codecs", NDLZ, the table of tokens.
std::vector<std::size_t> rows_of_token(std::size_t side, unsigned token) {
  if (side == 8) {
    const std::size_t row = token & 7;
    if (token >> 3 == 21 && row + 2 < 8) return {row, row + 1, row + 2};
    if (token >> 3 == 17 && row + 1 < 8) return {row, row + 1};
    return {};
  }
  if (token >> 3 == 28) return {1, 2, 3};
  if (token >> 3 == 29) return {0, 1, 2};
  if (token >> 3 == 30) return {0, 1, 3};
  if (token >> 3 == 31) return {0, 2, 3};
  if (token == 128) return {2, 3};
  if (token >= 128 && token <= 191) {
    const std::size_t i = (token - 128) >> 5;
    return {i, ((token - 128) >> 3) - 4 * i};
  }
  if (token >= 40 && token <= 63) return {0, (token - 32) >> 3};
  return {};
}

// Oracle: the bytes that went in.
TEST_CASE("ndlz: planes of any shape come back", "[codec][ndlz][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const std::uint8_t side : {std::uint8_t{4}, std::uint8_t{8}}) {
    for (int round = 0; round < 60; ++round) {
      const Shape shape = {1 + test::draw(random) % 50, 1 + test::draw(random) % 50};
      INFO("cells of " << int{side} << ", plane of " << shape[0] << " by " << shape[1]);
      const Bytes plane = test::repetitive_plane(shape, random);
      const Bytes stream = encode_ndlz(plane, shape, side, random);
      const auto decoded = decode_guarded(with(side), stream, plane.size());
      REQUIRE(outcome(decoded) == "ok");
      REQUIRE_FALSE(first_difference(*decoded, plane));
    }
  }
}

// Oracle: the bytes that went in, and the table of tokens, each of which must occur.
TEST_CASE("ndlz: every token a writer has comes back", "[codec][ndlz][unit]") {
  constexpr Shape kShape = {200, 200};
  std::mt19937 random(5);
  const std::set<int> tokens4 = {0,   64,  192, 224, 232, 240, 248, 128,
                                 136, 144, 152, 176, 184, 40,  48,  56};
  std::set<int> tokens8 = {0, 64, 192};
  for (int row = 0; row < 6; ++row) tokens8.insert(168 + row);
  for (int row = 0; row < 7; ++row) tokens8.insert(136 + row);
  for (const auto& [side, tokens] : {std::pair{std::uint8_t{4}, tokens4}, {8, tokens8}}) {
    INFO("cells of " << int{side});
    test::TokenCount count;
    const Bytes plane = test::repetitive_plane(kShape, random);
    const Bytes stream = encode_ndlz(plane, kShape, side, random, &count);
    std::set<int> met;
    for (const auto& [token, times] : count) met.insert(token);
    CHECK(met == tokens);
    const auto decoded = decode_alone(with(side), stream, plane.size());
    REQUIRE(outcome(decoded) == "ok");
    CHECK_FALSE(first_difference(*decoded, plane));
  }
}

// Oracle: the table of tokens in rows_of_token().
TEST_CASE("ndlz: each of the 256 tokens gives its rows or is refused", "[codec][ndlz][unit]") {
  for (const std::uint8_t side : {std::uint8_t{4}, std::uint8_t{8}}) {
    for (unsigned token = 0; token < 256; ++token) {
      INFO("cells of " << int{side} << ", token " << token);
      const std::size_t token_at = kFirstCellAt + std::size_t{side} * side;
      const auto offset = static_cast<std::uint16_t>(token_at - kFirstCellAt);
      const Bytes stream = two_cells(side, token, offset, offset);
      const auto plane = decode_guarded(with(side), stream, std::size_t{2} * side * side);
      const auto rows = rows_of_token(side, token);
      if (token == 0x00 || token == 0x40 || token == 0xC0) {
        CHECK(plane);
        continue;
      }
      if (rows.empty()) {
        CHECK(outcome(plane) == "bad field: ndlz token at " + std::to_string(token_at));
        continue;
      }
      REQUIRE(outcome(plane) == "ok");
      // The bytes after one offset, or after two offsets, where the first cell is repeated.
      const bool two_references = side == 4 && token < 128;
      const Bytes rest(stream.begin() + static_cast<std::ptrdiff_t>(token_at + 3), stream.end());
      std::span<const std::byte> others = rest;
      const Bytes first_cell = counting(std::size_t{side} * side);
      if (two_references) others = first_cell;
      Bytes expected(std::size_t{side} * side);
      for (std::size_t row = 0, next = 0; row < side; ++row) {
        std::span<const std::byte> from;
        for (std::size_t i = 0; i < rows.size(); ++i) {
          if (rows[i] == row) from = std::span(first_cell).subspan(i * side, side);
        }
        if (from.empty()) from = others.subspan(side * next++, side);
        std::ranges::copy(from, expected.begin() + static_cast<std::ptrdiff_t>(row * side));
      }
      CHECK(second_cell(side, *plane) == expected);
    }
  }
}

TEST_CASE("ndlz: literal, copied and filled cells at the far edges are as small as the edge",
          "[codec][ndlz][unit]") {
  // 5 by 6: four cells of 4x4, 4x2, 1x4, 1x2.
  Bytes stream = head(5, 6);
  stream.push_back(std::byte{0});
  append(stream, counting(16));  // at 10
  stream.push_back(std::byte{0xC0});
  append_le<std::uint16_t>(stream, 16);  // from the token at 26: back to 10
  stream.push_back(std::byte{0x40});
  stream.push_back(std::byte{99});
  stream.push_back(std::byte{0});
  append(stream, bytes_of({50, 51}));
  const auto plane = decode_alone(with(4), stream, 30);
  REQUIRE(outcome(plane) == "ok");
  CHECK(*plane == bytes_of({0,  1,  2,  3,  0,  1,  //
                            4,  5,  6,  7,  2,  3,  //
                            8,  9,  10, 11, 4,  5,  //
                            12, 13, 14, 15, 6,  7,  //
                            99, 99, 99, 99, 50, 51}));
}

TEST_CASE("ndlz: bytes after the last cell are left alone", "[codec][ndlz][unit]") {
  Bytes stream = head(2, 3);
  stream.push_back(std::byte{0});
  append(stream, counting(20));
  CHECK(decode_alone(with(4), stream, 6) == counting(6));
}

// Oracle: the bytes of the stream there.  The reference library's decoder fails in this case.
TEST_CASE("ndlz: references as far as two bytes can tell are followed", "[codec][ndlz][unit]") {
  constexpr std::size_t kCells = 4000;  // literal, more than 65535 bytes in total
  constexpr std::size_t kColumns = 4 * (kCells + 1);
  Bytes literals = head(4, kColumns);
  for (std::uint32_t i = 0; i < kCells; ++i) {
    literals.push_back(std::byte{0});
    append(literals, test::noise(16, i));
  }
  for (std::uint16_t distance = 65535; distance >= 65530; --distance) {
    for (const unsigned token : {0xC0U, 224U, 136U, 56U}) {
      INFO("token " << token << ", distance " << distance);
      Bytes stream = literals;
      stream.push_back(static_cast<std::byte>(token));
      append_le(stream, distance);
      append_le(stream, distance);
      append(stream, counting(16));
      const auto plane = decode_alone(with(4), stream, 4 * kColumns);
      REQUIRE(outcome(plane) == "ok");
      const auto rows =
          token == 0xC0U ? std::vector<std::size_t>{0, 1, 2, 3} : rows_of_token(4, token);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto row = std::span(*plane).subspan((rows[i] + 1) * kColumns - 4, 4);
        CHECK(std::ranges::equal(row,
                                 std::span(stream).subspan(literals.size() - distance + 4 * i, 4)));
      }
    }
  }
}

TEST_CASE("ndlz: every truncated prefix is refused", "[codec][ndlz][corrupt]") {
  std::mt19937 random(7);
  for (const std::uint8_t side : {std::uint8_t{4}, std::uint8_t{8}}) {
    constexpr Shape kShape = {30, 42};
    const Bytes plane = test::repetitive_plane(kShape, random);
    const Bytes stream = encode_ndlz(plane, kShape, side, random);
    check_prefixes_refused(with(side), stream, plane.size());
    check_other_sizes_refused(with(side), stream, plane.size());
  }
}

TEST_CASE("ndlz: whatever bit is flipped, bytes depend on the stream alone",
          "[codec][ndlz][corrupt]") {
  std::mt19937 random(9);
  for (const std::uint8_t side : {std::uint8_t{4}, std::uint8_t{8}}) {
    constexpr Shape kShape = {18, 21};
    const Bytes plane = test::repetitive_plane(kShape, random);
    check_bit_flips(with(side), encode_ndlz(plane, kShape, side, random), plane.size());
  }
}

TEST_CASE("ndlz: a cell side other than 4 and 8 is refused", "[codec][ndlz][corrupt]") {
  Bytes stream = head(1, 1);
  append(stream, bytes_of({0, 1}));
  for (unsigned side = 0; side < 256; ++side) {
    INFO("side " << side);
    const bool is_one = side == 4 || side == 8;
    CHECK(is_ndlz_cell_side(static_cast<std::uint8_t>(side)) == is_one);
    CHECK(decode_alone(with(static_cast<std::uint8_t>(side)), stream, 1).has_value() == is_one);
  }
}

TEST_CASE("ndlz: a stream shorter than its head is refused", "[codec][ndlz][corrupt]") {
  for (std::size_t n = 0; n < kHeadBytes; ++n) {
    Bytes stream = head(1, 1);
    stream.resize(n);
    const auto decoded = decode_alone(with(4), stream, 1);
    REQUIRE_FALSE(decoded);
    CHECK(decoded.error().kind == Errc::truncated);
  }
}

TEST_CASE("ndlz: a plane of other than two dimensions is refused", "[codec][ndlz][corrupt]") {
  Bytes stream = head(1, 1);
  append(stream, bytes_of({0, 1}));
  for (const int ndim : {0, 1, 3, 255}) {
    stream[0] = static_cast<std::byte>(ndim);
    CHECK(outcome(decode_alone(with(8), stream, 1)) == "bad field: ndim of ndlz at 0");
  }
}

TEST_CASE("ndlz: a negative side of the plane is refused", "[codec][ndlz][corrupt]") {
  constexpr auto kMin = std::numeric_limits<std::int32_t>::min();
  for (const auto& [rows, columns, at] :
       {std::array{-1, -1, 1}, {-4, 4, 1}, {4, -4, 5}, {kMin, kMin, 1}, {1, kMin, 5}}) {
    Bytes stream = head(rows, columns);
    append(stream, Bytes(100));
    CHECK(outcome(decode_alone(with(4), stream, 16)) ==
          "bad field: ndlz block shape at " + std::to_string(at));
  }
}

TEST_CASE("ndlz: a plane of another size than the block is refused", "[codec][ndlz][corrupt]") {
  constexpr auto kMax = std::numeric_limits<std::int32_t>::max();
  // Two of the products are equal to the block's size modulo 2^32.
  for (const auto& [rows, columns] : {std::array{4, 5},
                                      {5, 4},
                                      {1 << 16, (1 << 16) + 16},
                                      {0, 0},
                                      {0, 16},
                                      {1 << 30, 4},
                                      {kMax, kMax}}) {
    Bytes stream = head(rows, columns);
    append(stream, Bytes(1000));
    CHECK(outcome(decode_alone(with(4), stream, 16)) == "bad field: ndlz decoded size at 1");
  }
}

TEST_CASE("ndlz: references out of the stream are refused", "[codec][ndlz][corrupt]") {
  for (const std::uint8_t side : {std::uint8_t{4}, std::uint8_t{8}}) {
    const std::size_t token_at = kFirstCellAt + std::size_t{side} * side;
    const auto size = std::size_t{2} * side * side;
    for (const unsigned token :
         {0xC0U, side == 4 ? 224U : 168U, side == 4 ? 136U : 140U, side == 4 ? 40U : 136U}) {
      INFO("cells of " << int{side} << ", token " << token);
      const auto begin = static_cast<std::uint16_t>(token_at);
      const std::string before = "bad field: ndlz reference at " + std::to_string(token_at + 1);
      CHECK(outcome(decode_alone(with(side), two_cells(side, token, begin, begin), size)) == "ok");
      for (const std::uint16_t offset :
           {static_cast<std::uint16_t>(begin + 1), std::uint16_t{65533}, std::uint16_t{65535}}) {
        const auto stream = two_cells(side, token, offset, begin);
        CHECK(outcome(decode_alone(with(side), stream, size)) == before);
      }
      // References into the token itself, and past the end; offset 0 is the token.
      Bytes stream = two_cells(side, token, 0, begin);
      stream.resize(token_at + 5);
      CHECK(outcome(decode_alone(with(side), stream, size)) == before);
    }
  }
  const std::size_t token_at = kFirstCellAt + 16;
  const auto begin = static_cast<std::uint16_t>(token_at);
  const auto stream = two_cells(4, 40, begin, static_cast<std::uint16_t>(begin + 1));
  CHECK(outcome(decode_alone(with(4), stream, 32)) ==
        "bad field: ndlz reference at " + std::to_string(token_at + 3));
}

TEST_CASE("ndlz: rows beyond the cell are refused", "[codec][ndlz][corrupt]") {
  for (const unsigned token : {168U + 6, 168U + 7, 136U + 7}) {
    CHECK(outcome(decode_alone(with(8), two_cells(8, token, 64, 64), 128)) ==
          "bad field: ndlz token at 74");
  }
}

}  // namespace
}  // namespace framefs::codec::ndlz_test
