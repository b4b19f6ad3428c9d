#include "codec/chunk/chunk_header.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "codec/core/limits.h"
#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"

namespace framefs::codec::chunk_header_test {
namespace {

using test::Bytes;
using test::outcome;
using test::put_le;

constexpr std::uint64_t kAvailable = 4096;
constexpr auto kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr auto kInt32Min = std::numeric_limits<std::int32_t>::min();

// A valid 32-byte header, written by hand from the format's table: lz4, shuffle in the last slot,
// typesize 4, 1000 bytes in blocks of 256, 600 bytes stored.
Bytes extended_header() {
  Bytes out;
  for (const unsigned b :
       {5U, 1U, 0x35U, 4U, 0xe8U, 3U, 0U, 0U, 0U, 1U, 0U, 0U, 0x58U, 2U, 0U, 0U,
        0U, 0U, 0U,    0U, 0U,    1U, 1U, 0U, 0U, 0U, 0U, 0U, 0U,    0U, 0U, 0U}) {
    out.push_back(static_cast<std::byte>(b));
  }
  return out;
}

// The same in 16 bytes, as written by Blosc1.
Bytes short_header() {
  Bytes out = extended_header();
  out.resize(kShortHeaderBytes);
  out[0] = std::byte{2};
  out[2] = std::byte{0x31};
  return out;
}

Bytes special_header(Special special, std::int32_t nbytes, std::int32_t cbytes) {
  Bytes out = extended_header();
  out[31] = static_cast<std::byte>(static_cast<unsigned>(special) << 4);
  put_le(out, 4, nbytes);
  put_le(out, 12, cbytes);
  return out;
}

std::string parse(const Bytes& header, std::uint64_t available = kAvailable) {
  return outcome(parse_chunk_header(header, available));
}

// Oracle: the format's table of fields.
TEST_CASE("chunk_header: every field of the long form is read", "[codec][chunk_header][unit]") {
  Bytes bytes = extended_header();
  for (std::size_t i = 0; i < 6; ++i) {
    bytes[16 + i] = static_cast<std::byte>(0x10 + i);
    bytes[24 + i] = static_cast<std::byte>(0x20 + i);
  }
  bytes[22] = std::byte{0xa0};
  bytes[23] = std::byte{0xa1};
  bytes[31] = std::byte{0x81};
  const auto header = parse_chunk_header(bytes, kAvailable).value();
  CHECK(header.version == 5);
  CHECK(header.codec == CodecFormat::lz4);
  CHECK(header.codec_id == 0xa0);
  CHECK(header.codec_meta == 0xa1);
  CHECK(header.typesize == 4);
  CHECK(header.extended);
  CHECK_FALSE(header.memcpyed);
  CHECK(header.dont_split);
  CHECK(header.has_dict);
  CHECK_FALSE(header.vl_blocks);
  CHECK(header.instrumented);
  CHECK(header.special == Special::none);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(header.filters[i].id == 0x10 + i);
    CHECK(header.filters[i].meta == 0x20 + i);
  }
  CHECK(header.nbytes == 1000);
  CHECK(header.blocksize == 256);
  CHECK(header.nblocks == 4);
  CHECK(header.cbytes == 600);
  CHECK(header.header_bytes() == 32);
}

TEST_CASE("chunk_header: every flag of the first flag byte has its own meaning",
          "[codec][chunk_header][unit]") {
  for (unsigned flags = 0; flags < 256; ++flags) {
    INFO("flags " << flags);
    Bytes bytes = extended_header();
    bytes[2] = static_cast<std::byte>(flags);
    const bool extended = (flags & 5) == 5;
    put_le<std::int32_t>(bytes, 12, extended ? 1032 : 1016);  // valid if memcpyed
    const auto header = parse_chunk_header(bytes, kAvailable);
    REQUIRE(header);
    CHECK(header->extended == extended);
    CHECK(header->header_bytes() == (extended ? 32 : 16));
    CHECK(header->memcpyed == ((flags & 2) != 0));
    CHECK(header->dont_split == ((flags & 16) != 0));
    CHECK(static_cast<unsigned>(header->codec) == flags >> 5);
    if (extended) continue;
    const unsigned shuffle = (flags & 1) != 0 ? 1 : (flags & 4) != 0 ? 2 : 0;
    CHECK(header->filters[5].id == shuffle);
    CHECK(header->filters[4].id == ((flags & 8) != 0 ? 3 : 0));
    CHECK(header->filters[0].id + header->filters[3].id == 0);
    CHECK(header->special == Special::none);
    CHECK_FALSE(header->vl_blocks);
  }
}

// The bytes after a short header are data, whatever they look like.
TEST_CASE("chunk_header: the short form ends after 16 bytes", "[codec][chunk_header][corrupt]") {
  Bytes bytes = short_header();
  CHECK(parse(bytes) == "ok");
  bytes.resize(32, std::byte{0xff});
  const auto header = parse_chunk_header(bytes, kAvailable).value();
  CHECK(header.special == Special::none);
  CHECK_FALSE(header.has_dict);
  CHECK_FALSE(header.vl_blocks);
  put_le<std::int32_t>(bytes, 12, 16);
  CHECK(parse(bytes) == "ok");
  put_le<std::int32_t>(bytes, 12, 15);
  CHECK(parse(bytes) == "bad field: cbytes at 12");
}

TEST_CASE("chunk_header: version 3 has five filter slots", "[codec][chunk_header][unit]") {
  Bytes bytes = extended_header();
  bytes[0] = std::byte{3};
  bytes[20] = std::byte{2};
  bytes[29] = std::byte{9};
  const auto header = parse_chunk_header(bytes, kAvailable).value();
  CHECK(header.filters[4].id == 2);
  CHECK(header.filters[5].id == 0);
  CHECK(header.filters[5].meta == 0);
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
    if (field.width == 1) put_le(bytes, field.at, static_cast<std::uint8_t>(field.value));
    if (field.width == 4) put_le(bytes, field.at, static_cast<std::int32_t>(field.value));
    CHECK(parse(bytes) == field.expect);
  }
}

// Oracle: the format's rules.  Each number is tried at both of its limits and one past them.
TEST_CASE("chunk_header: numbers are taken up to their limits and refused past them",
          "[codec][chunk_header][corrupt]") {
  check_cases(extended_header(),
              {
                  {0, 1, 0, "ok"},
                  {0, 1, 1, "ok"},
                  {0, 1, 6, "ok"},
                  {0, 1, 7, "ok"},
                  {0, 1, 255, "ok"},
                  {1, 1, 0, "ok"},
                  {1, 1, 255, "ok"},
                  {3, 1, 0, "bad field: typesize at 3"},
                  {3, 1, 1, "ok"},
                  {3, 1, 255, "ok"},
                  {4, 4, kInt32Min, "bad field: nbytes at 4"},
                  {4, 4, -1, "bad field: nbytes at 4"},
                  {4, 4, 0, "ok"},
                  {4, 4, 1, "ok"},
                  {4, 4, kMaxChunkBytes, "ok"},
                  {4, 4, std::int64_t{kMaxChunkBytes} + 1, "bad field: nbytes at 4"},
                  {4, 4, kInt32Max, "bad field: nbytes at 4"},
                  {8, 4, kInt32Min, "bad field: blocksize at 8"},
                  {8, 4, -1, "bad field: blocksize at 8"},
                  {8, 4, 0, "bad field: blocksize at 8"},
                  {8, 4, 1, "ok"},
                  {8, 4, kMaxBlockBytes, "ok"},
                  {8, 4, std::int64_t{kMaxBlockBytes} + 1, "bad field: blocksize at 8"},
                  {8, 4, kInt32Max, "bad field: blocksize at 8"},
                  {12, 4, kInt32Min, "bad field: cbytes at 12"},
                  {12, 4, -1, "bad field: cbytes at 12"},
                  {12, 4, 0, "bad field: cbytes at 12"},
                  {12, 4, 16, "bad field: cbytes at 12"},
                  {12, 4, 31, "bad field: cbytes at 12"},
                  {12, 4, 32, "ok"},
                  {12, 4, kAvailable, "ok"},
                  {12, 4, kAvailable + 1, "truncated: cbytes at 12"},
                  {12, 4, kInt32Max, "truncated: cbytes at 12"},
              });
}

TEST_CASE("chunk_header: flags of the second kind are taken or refused one by one",
          "[codec][chunk_header][corrupt]") {
  check_cases(extended_header(), {
                                     {31, 1, 0x01, "ok"},
                                     {31, 1, 0x02, "ok"},
                                     {31, 1, 0x04, "ok"},
                                     {31, 1, 0x80, "ok"},
                                     {31, 1, 0x08, "bad field: lazy flag on a stored chunk at 31"},
                                     {31, 1, 0x50, "bad field: special value id at 31"},
                                     {31, 1, 0x60, "bad field: special value id at 31"},
                                     {31, 1, 0x70, "bad field: special value id at 31"},
                                     {30, 1, 0x01, "ok"},
                                     {30, 1, 0x02, "ok"},
                                     {30, 1, 0xff, "ok"},
                                 });
  // A newer version is accepted unless it uses something unknown.
  Bytes newer = extended_header();
  newer[0] = std::byte{7};
  check_cases(newer, {
                         {30, 1, 0x01, "ok"},
                         {30, 1, 0x02, "unsupported: chunk version at 0"},
                         {30, 1, 0x80, "unsupported: chunk version at 0"},
                     });
}

TEST_CASE("chunk_header: special chunks obey the rules of their kind",
          "[codec][chunk_header][corrupt]") {
  const auto check = [](Special special, std::int32_t nbytes, std::int32_t cbytes) {
    return parse(special_header(special, nbytes, cbytes));
  };
  const std::string wrong_size = "bad field: cbytes of a special chunk at 12";
  const std::string broken_item = "bad field: nbytes of a special chunk at 4";
  const std::string wrong_value = "bad field: repeated value's size at 12";
  for (const auto special : {Special::zero, Special::nan, Special::uninit}) {
    INFO("special " << static_cast<int>(special));
    CHECK(check(special, 1000, 32) == "ok");
    CHECK(check(special, 0, 32) == "ok");
    CHECK(check(special, kMaxChunkBytes - 3, 32) == "ok");
    CHECK(check(special, 1000, 33) == wrong_size);
    CHECK(check(special, 1001, 32) == (special == Special::zero ? "ok" : broken_item));
  }
  CHECK(check(Special::value, 1000, 32) == wrong_value);
  CHECK(check(Special::value, 1000, 33) == "ok");
  CHECK(check(Special::value, 1000, 32 + 8) == "ok");
  CHECK(check(Special::value, 1000, 32 + 3) == wrong_value);
  CHECK(check(Special::value, 1000, 32 + 1000) == "ok");
  CHECK(check(Special::value, 1000, 32 + 1001) == wrong_value);
  CHECK(check(Special::value, 1000, 32 + 2000) == wrong_value);
  CHECK(check(Special::value, 0, 33) == wrong_value);
  // Codec, filters and the memcpyed flag do not matter for a special chunk.
  Bytes flagged = special_header(Special::zero, 1000, 32);
  flagged[2] = std::byte{0xff};
  CHECK(parse(flagged) == "ok");
}

TEST_CASE("chunk_header: a memcpyed chunk stores just its bytes",
          "[codec][chunk_header][corrupt]") {
  Bytes bytes = extended_header();
  bytes[2] = std::byte{0x07};
  for (const auto& [cbytes, expect] : std::vector<std::pair<std::int32_t, const char*>>{
           {1031, "bad field: cbytes of a memcpyed chunk at 12"},
           {1032, "ok"},
           {1033, "bad field: cbytes of a memcpyed chunk at 12"}}) {
    put_le(bytes, 12, cbytes);
    CHECK(parse(bytes) == expect);
  }
  Bytes old = short_header();
  old[2] = std::byte{0x02};
  put_le<std::int32_t>(old, 12, 1016);
  CHECK(parse(old) == "ok");
  put_le<std::int32_t>(old, 12, 1032);
  CHECK(parse(old) == "bad field: cbytes of a memcpyed chunk at 12");
}

TEST_CASE("chunk_header: variable-length blocks count blocks and exclude other bodies",
          "[codec][chunk_header][corrupt]") {
  Bytes bytes = extended_header();
  bytes[0] = std::byte{6};
  bytes[30] = std::byte{1};
  put_le<std::int32_t>(bytes, 8, 3);
  const auto header = parse_chunk_header(bytes, kAvailable).value();
  CHECK(header.vl_blocks);
  CHECK(header.nblocks == 3);
  CHECK(header.blocksize == 0);
  const std::string expect =
      "bad field: variable-length blocks in a special or memcpyed chunk at 31";
  for (const unsigned special : {1U, 2U, 3U, 4U}) {
    Bytes damaged = bytes;
    damaged[31] = static_cast<std::byte>(special << 4);
    CHECK(parse(damaged) == expect);
  }
  Bytes damaged = bytes;
  damaged[2] |= std::byte{2};
  CHECK(parse(damaged) == expect);
}

// Oracle: blocks of `blocksize` laid end to end, after the block size is clipped to the chunk's
// size.
TEST_CASE("chunk_header: blocks are counted after the block size is clipped",
          "[codec][chunk_header][unit]") {
  struct Case {
    std::int32_t nbytes;
    std::int32_t blocksize;
    std::uint32_t expect_blocksize;
    std::uint32_t expect_blocks;
  };
  for (const auto& c :
       {Case{1000, 1000, 1000, 1}, Case{1000, 1001, 1000, 1}, Case{1000, 536866816, 1000, 1},
        Case{1000, 999, 999, 2}, Case{1000, 500, 500, 2}, Case{1000, 1, 1, 1000}, Case{1, 1, 1, 1},
        Case{0, 1, 0, 0}, Case{kMaxChunkBytes, 2, 2, 1073741808}}) {
    INFO(c.nbytes << " bytes in blocks of " << c.blocksize);
    Bytes bytes = extended_header();
    put_le(bytes, 4, c.nbytes);
    put_le(bytes, 8, c.blocksize);
    const auto header = parse_chunk_header(bytes, kAvailable).value();
    CHECK(header.blocksize == c.expect_blocksize);
    CHECK(header.nblocks == c.expect_blocks);
  }
}

TEST_CASE("chunk_header: every truncated prefix is refused", "[codec][chunk_header][corrupt]") {
  for (const Bytes& good : {extended_header(), short_header()}) {
    for (std::size_t n = 0; n < good.size(); ++n) {
      INFO("prefix of " << n << " bytes");
      const auto head = std::span(good).first(n);
      CHECK(parse_chunk_header(head, n).error().kind == Errc::truncated);
      CHECK(parse_chunk_header(head, kAvailable).error().kind == Errc::truncated);
    }
  }
}

// Oracle: the guarantees that users of a header rely on.
TEST_CASE("chunk_header: any flipped bit gives an error or a header that keeps its promises",
          "[codec][chunk_header][corrupt]") {
  Bytes vl = extended_header();
  vl[0] = std::byte{6};
  vl[30] = std::byte{1};
  for (Bytes bytes : {extended_header(), short_header(), special_header(Special::zero, 1000, 32),
                      special_header(Special::value, 1000, 36), vl}) {
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      INFO("bit " << bit);
      const std::byte mask = std::byte{1} << (bit % 8);
      bytes[bit / 8] ^= mask;
      const auto header = parse_chunk_header(bytes, kAvailable);
      bytes[bit / 8] ^= mask;
      if (!header) continue;
      REQUIRE(header->typesize > 0);
      REQUIRE(header->nbytes <= kMaxChunkBytes);
      REQUIRE(header->cbytes >= header->header_bytes());
      REQUIRE(header->cbytes <= kAvailable);
      if (header->vl_blocks) {
        REQUIRE(header->blocksize == 0);
        REQUIRE(header->nblocks > 0);
        continue;
      }
      REQUIRE(header->blocksize <= header->nbytes);
      REQUIRE((header->nbytes == 0) == (header->nblocks == 0));
      if (header->nbytes == 0) continue;
      REQUIRE(std::uint64_t{header->nblocks - 1} * header->blocksize < header->nbytes);
      REQUIRE(std::uint64_t{header->nblocks} * header->blocksize >= header->nbytes);
    }
  }
}

}  // namespace
}  // namespace framefs::codec::chunk_header_test
