#include "codec/frame/frame_header.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "codec/core/limits.h"
#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/outcome.h"

namespace framefs::codec::frame_header_test {
namespace {

using test::Bytes;
using test::outcome;
using test::put_be;

constexpr auto kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr auto kInt32Min = std::numeric_limits<std::int32_t>::min();
constexpr auto kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr auto kInt64Min = std::numeric_limits<std::int64_t>::min();

// The fixed header of the smallest frame, which releases of the reference library read: 32 bytes in
// one chunk, typesize 8, 236 bytes in total.
Bytes good_header() {
  constexpr unsigned char kBytes[] = {
      0x9e, 0xa8, 0x62, 0x32, 0x66, 0x72, 0x61, 0x6d, 0x65, 0x00, 0xd2, 0x00, 0x00, 0x00, 0x61,
      0xcf, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xec, 0xa4, 0x12, 0x00, 0x50, 0x03, 0xd3,
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0xd3, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x40, 0xd2, 0x00, 0x00, 0x00, 0x08, 0xd2, 0x00, 0x00, 0x00, 0x20, 0xd2, 0x00, 0x00,
      0x00, 0x20, 0xd1, 0x00, 0x01, 0xd1, 0x00, 0x01, 0xc2, 0xd8, 0x06, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
  static_assert(sizeof(kBytes) == kFrameFixedHeaderBytes);
  Bytes out;
  for (const auto b : kBytes) out.push_back(static_cast<std::byte>(b));
  return out;
}

std::string parse(const Bytes& header) { return outcome(parse_frame_header(header)); }

// Oracle: the fields of the frame format, "Header".
TEST_CASE("frame_header: the smallest frame's header is read", "[codec][frame_header][unit]") {
  const auto header = parse_frame_header(good_header()).value();
  CHECK(header.header_len == 97);
  CHECK(header.frame_len == 236);
  CHECK(header.nbytes == 32);
  CHECK(header.cbytes == 64);
  CHECK(header.typesize == 8);
  CHECK(header.blocksize == 32);
  CHECK(header.chunksize == 32);
  CHECK(header.type == FrameType::contiguous);
  CHECK(header.version == 2);
  CHECK(header.codec_id == 0);
  CHECK(header.codec_meta == 0);
  CHECK(header.clevel == 5);
  CHECK(header.splitmode == 4);
  CHECK_FALSE(header.use_dict);
  CHECK(header.filters[5].id == 1);
  CHECK(header.filters[4].id == 0);
  CHECK_FALSE(header.has_variable_chunks());
}

TEST_CASE("frame_header: flags, codec and filters stand where the format says",
          "[codec][frame_header][unit]") {
  Bytes bytes = good_header();
  bytes[26] = std::byte{1};
  bytes[27] = std::byte{0x96};  // level 9; the codec is in byte 77
  bytes[28] = std::byte{0xfd};
  bytes[77] = std::byte{0xa0};
  bytes[78] = std::byte{0xb0};
  bytes[85] = std::byte{0x01};
  const std::vector<unsigned> filters = {1, 2, 3, 4, 35, 160};
  for (std::size_t i = 0; i < 6; ++i) {
    bytes[71 + i] = static_cast<std::byte>(filters[i]);
    bytes[79 + i] = static_cast<std::byte>(0x40 + i);
  }
  const auto header = parse_frame_header(bytes).value();
  CHECK(header.type == FrameType::sparse);
  CHECK(header.clevel == 9);
  CHECK(header.codec_id == 0xa0);
  CHECK(header.codec_meta == 0xb0);
  CHECK(header.splitmode == 2);
  CHECK(header.use_dict);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(header.filters[i].id == filters[i]);
    CHECK(header.filters[i].meta == 0x40 + i);
  }
  bytes[27] = std::byte{0x15};  // zstd, whatever byte 77 says
  CHECK(parse_frame_header(bytes).value().codec_id == 5);
}

struct FieldCase {
  std::size_t at;
  int width;
  std::int64_t value;
  const char* expect;
};

void check_cases(const Bytes& good, const std::vector<FieldCase>& cases) {
  REQUIRE(parse(good) == "ok");
  for (const auto& field : cases) {
    INFO("field at " << field.at << " = " << field.value);
    Bytes bytes = good;
    if (field.width == 1) put_be(bytes, field.at, static_cast<std::uint8_t>(field.value));
    if (field.width == 4) put_be(bytes, field.at, static_cast<std::int32_t>(field.value));
    if (field.width == 8) put_be(bytes, field.at, field.value);
    CHECK(parse(bytes) == field.expect);
  }
}

// Oracle: the format's rules.  Each number is tried at both of its limits and one past them.
TEST_CASE("frame_header: numbers are taken up to their limits and refused past them",
          "[codec][frame_header][corrupt]") {
  check_cases(good_header(),
              {
                  {11, 4, kInt32Min, "bad field: header_len at 11"},
                  {11, 4, -1, "bad field: header_len at 11"},
                  {11, 4, 0, "bad field: header_len at 11"},
                  {11, 4, 86, "bad field: header_len at 11"},
                  {11, 4, 87, "ok"},
                  {11, 4, 236, "ok"},
                  {11, 4, 237, "bad field: header_len at 11"},
                  {11, 4, kInt32Max, "bad field: header_len at 11"},
                  {16, 8, kInt64Min, "bad field: frame_len at 16"},
                  {16, 8, -1, "bad field: frame_len at 16"},
                  {16, 8, 0, "bad field: frame_len at 16"},
                  {16, 8, 111, "bad field: frame_len at 16"},
                  {16, 8, 112, "ok"},
                  {16, 8, kInt64Max, "ok"},
                  {30, 8, kInt64Min, "bad field: uncompressed_size at 30"},
                  {30, 8, -1, "bad field: uncompressed_size at 30"},
                  {30, 8, 0, "ok"},
                  {30, 8, 1, "ok"},
                  {30, 8, std::int64_t{kMaxChunks} * 32, "ok"},
                  {30, 8, std::int64_t{kMaxChunks} * 32 + 1, "bad field: uncompressed_size at 30"},
                  {30, 8, kInt64Max, "bad field: uncompressed_size at 30"},
                  {39, 8, kInt64Min, "bad field: compressed_size at 39"},
                  {39, 8, -1, "bad field: compressed_size at 39"},
                  {39, 8, 0, "ok"},
                  {39, 8, kInt64Max, "ok"},
                  {48, 4, kInt32Min, "bad field: typesize at 48"},
                  {48, 4, -1, "bad field: typesize at 48"},
                  {48, 4, 0, "bad field: typesize at 48"},
                  {48, 4, 1, "ok"},
                  {48, 4, 255, "ok"},
                  {48, 4, 256, "ok"},
                  {48, 4, kInt32Max, "ok"},
                  {53, 4, kInt32Min, "ok"},
                  {53, 4, 0, "ok"},
                  {53, 4, kInt32Max, "ok"},  // advisory
                  {58, 4, kInt32Min, "bad field: chunksize at 58"},
                  {58, 4, -1, "bad field: chunksize at 58"},
                  {58, 4, 0, "ok"},
                  {58, 4, 1, "ok"},
                  {58, 4, kMaxChunkBytes, "ok"},
                  {58, 4, std::int64_t{kMaxChunkBytes} + 1, "bad field: chunksize at 58"},
                  {58, 4, kInt32Max, "bad field: chunksize at 58"},
                  {63, 4, -1, "ok"},
                  {68, 1, 0xc3, "ok"},  // threads, and whether there are vl-metalayers
              });
}

TEST_CASE("frame_header: unknown kinds, versions and filters are refused",
          "[codec][frame_header][corrupt]") {
  check_cases(good_header(), {
                                 {25, 1, 0x10, "ok"},
                                 {25, 1, 0x11, "ok"},
                                 {25, 1, 0x13, "ok"},
                                 {25, 1, 0xf2, "ok"},
                                 {25, 1, 0x14, "unsupported: frame format version at 25"},
                                 {25, 1, 0x1f, "unsupported: frame format version at 25"},
                                 {26, 1, 1, "ok"},
                                 {26, 1, 2, "bad field: frame type at 26"},
                                 {26, 1, 255, "bad field: frame type at 26"},
                                 {70, 1, 0, "ok"},
                                 {70, 1, 6, "ok"},
                                 {70, 1, 7, "bad field: number of filters at 70"},
                                 {70, 1, 255, "bad field: number of filters at 70"},
                                 {71, 1, 4, "ok"},
                                 {71, 1, 5, "bad field: filter of the frame header at 71"},
                                 {76, 1, 31, "bad field: filter of the frame header at 76"},
                                 {76, 1, 32, "ok"},
                                 {72, 1, 36, "ok"},
                                 {72, 1, 37, "unsupported: filter of the frame header at 72"},
                                 {72, 1, 159, "unsupported: filter of the frame header at 72"},
                                 {72, 1, 160, "ok"},
                                 {72, 1, 255, "ok"},
                             });
}

// A frame without chunks may have an undecided chunk size.
TEST_CASE("frame_header: an empty frame may lack a chunk size and keep dead bytes",
          "[codec][frame_header][unit]") {
  Bytes bytes = good_header();
  put_be<std::int64_t>(bytes, 30, 0);
  for (const std::int32_t chunksize : {-1, 0, 1, kInt32Min, kInt32Max}) {
    INFO("chunk size " << chunksize);
    put_be(bytes, 58, chunksize);
    const auto header = parse_frame_header(bytes);
    REQUIRE(header);
    CHECK(header->cbytes == 64);
    CHECK_FALSE(header->has_variable_chunks());
  }
}

TEST_CASE("frame_header: data without a chunk size come in chunks of varying size",
          "[codec][frame_header][unit]") {
  Bytes bytes = good_header();
  put_be<std::int32_t>(bytes, 58, 0);
  CHECK(parse_frame_header(bytes).value().has_variable_chunks());
}

TEST_CASE("frame_header: the magic alone tells a frame", "[codec][frame_header][unit]") {
  const Bytes good = good_header();
  CHECK(has_frame_magic(good));
  CHECK(has_frame_magic(std::span(good).first(10)));
  CHECK_FALSE(has_frame_magic(std::span(good).first(9)));
  CHECK_FALSE(has_frame_magic({}));
  for (std::size_t at = 2; at < 10; ++at) {
    Bytes bytes = good;
    bytes[at] ^= std::byte{0x20};
    CHECK_FALSE(has_frame_magic(bytes));
    CHECK(parse(bytes) == "bad field: frame magic at 2");
  }
}

// Frames from before beta.2 have the magic too, but another layout.
TEST_CASE("frame_header: frames of before 2.0.0-beta.2 are named as such",
          "[codec][frame_header][corrupt]") {
  for (const unsigned items : {0x9bU, 0x9cU}) {
    Bytes bytes = good_header();
    bytes[0] = static_cast<std::byte>(items);
    CHECK(parse(bytes) == "unsupported: frame layout before 2.0.0-beta.2 at 0");
  }
}

TEST_CASE("frame_header: every truncated prefix is refused", "[codec][frame_header][corrupt]") {
  const Bytes good = good_header();
  for (std::size_t n = 0; n < good.size(); ++n) {
    INFO("prefix of " << n << " bytes");
    const auto got = parse_frame_header(std::span(good).first(n));
    REQUIRE_FALSE(got);
    // Without the magic, truncated or not, it is not a frame.
    CHECK(got.error().kind == (n < 10 ? Errc::bad_field : Errc::truncated));
  }
}

// Oracle: the guarantees that users of a header rely on.
TEST_CASE("frame_header: any flipped bit gives an error or a header that keeps its promises",
          "[codec][frame_header][corrupt]") {
  Bytes bytes = good_header();
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    INFO("bit " << bit);
    const std::byte mask = std::byte{1} << (bit % 8);
    bytes[bit / 8] ^= mask;
    const auto header = parse_frame_header(bytes);
    bytes[bit / 8] ^= mask;
    if (!header) continue;
    REQUIRE(header->header_len >= kFrameFixedHeaderBytes);
    REQUIRE(header->header_len <= header->frame_len);
    REQUIRE(header->frame_len >= kMinFrameBytes);
    REQUIRE(header->frame_len <= static_cast<std::uint64_t>(kInt64Max));
    REQUIRE(header->cbytes <= static_cast<std::uint64_t>(kInt64Max));
    REQUIRE(header->typesize > 0);
    REQUIRE(header->chunksize <= kMaxChunkBytes);
    REQUIRE((header->chunksize == 0 ||
             header->nbytes <= std::uint64_t{header->chunksize} * kMaxChunks));
  }
}

}  // namespace
}  // namespace framefs::codec::frame_header_test
