#include "codec/chunk/chunk.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "codec/chunk/chunk_reader.h"
#include "codec/core/byte_reader.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"
#include "tests/support/source_doubles.h"

namespace framefs::codec::chunk_test {
namespace {

using test::build_chunk;
using test::build_special_chunk;
using test::Bytes;
using test::ChunkSpec;
using test::counting;
using test::noise;
using test::outcome;
using test::put_le;
using test::ramp;
using test::SpecialKind;

constexpr Limits kLimits{};

Result<Chunk> open_bytes(std::span<const std::byte> bytes, const Limits& limits = kLimits) {
  return Chunk::open(MemorySource(bytes), 0, bytes.size(), {}, limits);
}

// Fills `size` bytes from `offset` on, in a buffer whose old content must not remain.
Bytes filled(const Chunk& chunk, std::uint64_t offset, std::size_t size) {
  Bytes out(size, std::byte{0xee});
  chunk.fill(offset, out);
  return out;
}

// `times` copies of `value`, one after the other: the content of a chunk of a repeated value.
Bytes repeated(std::span<const std::byte> value, std::size_t times) {
  Bytes out;
  for (std::size_t i = 0; i < times; ++i) test::append(out, value);
  return out;
}

// Ten blocks of 1000 bytes; the last one has 500.
Bytes regular_chunk() {
  ChunkSpec spec;
  spec.blocksize = 1000;
  spec.filters = {test::Filter::shuffle};
  return build_chunk(ramp(9500, 4), spec);
}

std::uint32_t start_of(const Bytes& chunk, std::size_t block) {
  return load_le<std::uint32_t>(chunk.data() + 32 + 4 * block);
}

TEST_CASE("chunk: zero and uninitialised chunks read as zeros", "[codec][chunk][unit]") {
  for (const auto kind : {SpecialKind::zero, SpecialKind::uninit}) {
    const auto chunk = open_bytes(build_special_chunk(kind, 4096, 4)).value();
    CHECK(chunk.body() == ChunkBody::special);
    CHECK(chunk.is_zero());
    CHECK(filled(chunk, 17, 1000) == Bytes(1000, std::byte{0}));
  }
}

// Oracle: the quiet NaNs as bytes.
TEST_CASE("chunk: NaN chunks repeat the NaN of 4 or 8 bytes and know no other",
          "[codec][chunk][unit]") {
  const Bytes nan4 = {std::byte{0}, std::byte{0}, std::byte{0xc0}, std::byte{0x7f}};
  const auto four = open_bytes(build_special_chunk(SpecialKind::nan, 4096, 4)).value();
  CHECK_FALSE(four.is_zero());
  CHECK(filled(four, 0, 400) == repeated(nan4, 100));
  Bytes nan8(8, std::byte{0});
  nan8[6] = std::byte{0xf8};
  nan8[7] = std::byte{0x7f};
  const auto eight = open_bytes(build_special_chunk(SpecialKind::nan, 4096, 8)).value();
  CHECK(filled(eight, 0, 400) == repeated(nan8, 50));
  for (const std::uint32_t typesize : {1U, 2U, 3U, 16U, 255U}) {
    INFO("typesize " << typesize);
    CHECK(outcome(open_bytes(build_special_chunk(SpecialKind::nan, 255 * 16 * 3, typesize))) ==
          "bad field: typesize of a NaN chunk at 3");
  }
}

// Oracle: copies of the value; each offset is used once as the start of a range.
TEST_CASE("chunk: a repeated value of any size starts at any phase", "[codec][chunk][unit]") {
  for (const std::uint32_t size : {1U, 2U, 3U, 7U, 8U, 255U, 256U, 300U, 4000U}) {
    INFO("value of " << size << " bytes");
    const Bytes value = noise(size, size);
    const Bytes all = repeated(value, 12);
    const auto chunk =
        open_bytes(build_special_chunk(SpecialKind::value, static_cast<std::uint32_t>(all.size()),
                                       size, value))
            .value();
    CHECK_FALSE(chunk.is_zero());
    CHECK(filled(chunk, 0, all.size()) == all);
    bool equal = true;
    for (std::size_t at = 0; at < std::min<std::size_t>(all.size(), 2 * size); ++at) {
      const std::size_t n = std::min<std::size_t>(all.size() - at, 3 * size + 5);
      equal = equal && std::ranges::equal(filled(chunk, at, n), std::span(all).subspan(at, n));
    }
    CHECK(equal);
    CHECK(filled(chunk, all.size(), 0).empty());
  }
}

TEST_CASE("chunk: specials that only an index names have no stored bytes", "[codec][chunk][unit]") {
  const auto zero = Chunk::make_special(Special::zero, 1001, 300).value();
  CHECK(zero.nbytes() == 1001);
  CHECK(zero.is_zero());
  CHECK(zero.body() == ChunkBody::special);
  CHECK(Chunk::make_special(Special::uninit, 10, 1).value().is_zero());
  // The last chunk of a frame may end within an item.
  const auto nan = Chunk::make_special(Special::nan, 10, 8).value();
  CHECK(filled(nan, 6, 4) == Bytes{std::byte{0xf8}, std::byte{0x7f}, std::byte{0}, std::byte{0}});
  for (const std::uint32_t typesize : {1U, 3U, 255U, 260U, 264U}) {
    CHECK(outcome(Chunk::make_special(Special::nan, 16, typesize)) ==
          "bad field: typesize of a NaN chunk at 0");
  }
}

TEST_CASE("chunk: a memcpyed chunk is plain and its dictionary flag means nothing",
          "[codec][chunk][unit]") {
  ChunkSpec spec;
  spec.codec = test::Codec::memcpy;
  Bytes bytes = build_chunk(counting(100), spec);
  // Unknown filters and codecs do not matter, because they are not used.
  bytes[16] = std::byte{31};
  bytes[2] = std::byte{0xe7};
  bytes[31] = std::byte{1};
  const auto chunk = open_bytes(bytes).value();
  CHECK(chunk.body() == ChunkBody::plain);
  CHECK(chunk.plain_offset() == 32);
  CHECK(chunk.nbytes() == 100);
  spec.blosc1_header = true;
  const auto old = open_bytes(build_chunk(counting(100), spec)).value();
  CHECK(old.body() == ChunkBody::plain);
  CHECK(old.plain_offset() == 16);
}

TEST_CASE("chunk: an empty chunk is plain and reads as nothing", "[codec][chunk][unit]") {
  for (const auto codec : {test::Codec::memcpy, test::Codec::lz4}) {
    ChunkSpec spec;
    spec.codec = codec;
    const Bytes bytes = build_chunk({}, spec);
    const auto chunk = open_bytes(bytes).value();
    CHECK(chunk.nbytes() == 0);
    CHECK(chunk.body() == ChunkBody::plain);
    const MemorySource source(bytes);
    ChunkReader reader(source, chunk);
    CHECK(reader.read(0, {}).has_value());
    Bytes one(1);
    CHECK(outcome(reader.read(0, one)) == "truncated: chunk at 0");
  }
}

// Oracle: blocks of 1000 bytes laid end to end, and the starts in the stored table.
TEST_CASE("chunk: a regular chunk maps bytes to blocks and blocks to stored bytes",
          "[codec][chunk][unit]") {
  const Bytes bytes = regular_chunk();
  Bytes around = noise(77, 1);
  test::append(around, bytes);
  test::append(around, noise(50, 2));
  const MemorySource source(around);
  const auto chunk = Chunk::open(source, 77, around.size() - 77, {}, kLimits).value();
  CHECK(chunk.body() == ChunkBody::blocks);
  REQUIRE(chunk.block_count() == 10);
  for (std::uint64_t i = 0; i < 10; ++i) {
    INFO("block " << i);
    CHECK(chunk.block_range({i}) == ByteRange{1000 * i, i < 9 ? 1000U : 500U});
    CHECK(chunk.block_at(1000 * i).value == i);
    CHECK(chunk.block_at(1000 * i + 499).value == i);
    const std::uint64_t end = i < 9 ? start_of(bytes, i + 1) : bytes.size();
    const std::uint64_t start = start_of(bytes, i);
    CHECK(chunk.stored_range({i}).value() == ByteRange{77 + start, end - start});
    CHECK(chunk.stream_count({i}) == 1);
  }
  CHECK(chunk.memory_bytes() >= sizeof(Chunk) + 10 * sizeof(std::uint32_t));
}

TEST_CASE("chunk: blocks in any stored order end where the next stored one starts",
          "[codec][chunk][unit]") {
  Bytes bytes = regular_chunk();
  std::vector<std::uint32_t> starts;
  for (std::size_t i = 0; i < 10; ++i) starts.push_back(start_of(bytes, i));
  // Only the table is reversed; this test does not decode the blocks.
  for (std::size_t i = 0; i < 10; ++i) put_le(bytes, 32 + 4 * i, starts[9 - i]);
  const auto chunk = open_bytes(bytes).value();
  for (std::uint64_t i = 0; i < 10; ++i) {
    const std::uint64_t end = i == 0 ? bytes.size() : starts[10 - i];
    const std::uint64_t most = chunk.block_range({i}).size + 5;
    CHECK(chunk.stored_range({i}).value() ==
          ByteRange{starts[9 - i], std::min(end - starts[9 - i], most)});
  }
}

TEST_CASE("chunk: a gap behind a block is not taken for the block", "[codec][chunk][unit]") {
  ChunkSpec spec;
  Bytes bytes = build_chunk(ramp(1000, 4), spec);
  bytes.resize(bytes.size() + 100000, std::byte{0xcc});
  put_le(bytes, 12, static_cast<std::int32_t>(bytes.size()));
  const auto chunk = open_bytes(bytes).value();
  CHECK(chunk.stored_range({0}).value() == ByteRange{36, 1005});
}

TEST_CASE("chunk: a block start outside the block area spoils that block alone",
          "[codec][chunk][corrupt]") {
  const Bytes good = regular_chunk();
  const auto size = static_cast<std::uint32_t>(good.size());
  for (const std::uint32_t start :
       {0U, 31U, 32U, 71U, size, size + 1, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
    INFO("start " << start);
    Bytes bytes = good;
    put_le(bytes, 32 + 4 * 4, start);
    const auto chunk = open_bytes(bytes).value();
    CHECK(outcome(chunk.stored_range({4})) == "bad field: block start at 48");
    for (const std::uint64_t other : {0U, 3U, 5U, 9U}) {
      const auto range = chunk.stored_range({other});
      REQUIRE(range);
      CHECK(range->offset == start_of(good, other));
      CHECK(range->offset + range->size <= good.size());
    }
  }
  Bytes bytes = good;
  put_le(bytes, 32, 72U);
  CHECK(open_bytes(bytes).value().stored_range({0}).value().offset == 72);
}

TEST_CASE("chunk: more block starts than the chunk has bytes are refused",
          "[codec][chunk][corrupt]") {
  Bytes bytes = regular_chunk();
  const auto rows = static_cast<std::int32_t>((bytes.size() - 32) / 4);
  put_le(bytes, 8, 1);
  for (const std::int32_t nbytes : {rows + 1, 1 << 20, 2147483615}) {
    put_le(bytes, 4, nbytes);
    CHECK(outcome(open_bytes(bytes)) == "bad field: block count at 8");
  }
  put_le(bytes, 4, rows);
  CHECK(outcome(open_bytes(bytes)) == "ok");
}

// Oracle: the format's split rule, for each version, typesize and block size.
TEST_CASE("chunk: streams of a block follow the split rule of their version",
          "[codec][chunk][unit]") {
  struct Case {
    std::uint32_t typesize;
    std::uint32_t blocksize;
    std::uint32_t nbytes;
    bool blosc1;
    std::uint32_t expect_first;
    std::uint32_t expect_last;
  };
  for (const auto& c : {Case{4, 400, 1000, false, 4, 1}, Case{4, 400, 1200, false, 4, 4},
                        Case{4, 512, 1200, true, 4, 1}, Case{4, 508, 1200, true, 1, 1},
                        Case{16, 2048, 4096, true, 16, 16}, Case{17, 4352, 8704, true, 1, 1},
                        Case{17, 4352, 8704, false, 17, 17}, Case{255, 2550, 5100, false, 255, 255},
                        Case{300, 3000, 6000, false, 1, 1}, Case{1, 100, 250, false, 1, 1}}) {
    INFO("typesize " << c.typesize << ", blocksize " << c.blocksize << ", blosc1 " << c.blosc1);
    ChunkSpec spec;
    spec.typesize = c.typesize;
    spec.blocksize = c.blocksize;
    spec.split = true;
    spec.blosc1_header = c.blosc1;
    const auto chunk = open_bytes(build_chunk(ramp(c.nbytes, c.typesize), spec)).value();
    CHECK(chunk.stream_count({0}) == c.expect_first);
    CHECK(chunk.stream_count({chunk.block_count() - 1}) == c.expect_last);
    spec.split = false;
    CHECK(open_bytes(build_chunk(ramp(c.nbytes, c.typesize), spec)).value().stream_count({0}) == 1);
  }
}

// Newer readers clip before they look for a leftover block, so the single block is a full one.
TEST_CASE("chunk: a block size above the chunk's is clipped and splits as a full block",
          "[codec][chunk][unit]") {
  ChunkSpec spec;
  spec.split = true;
  Bytes bytes = build_chunk(ramp(1000, 4), spec);
  put_le(bytes, 8, 536866816);
  const auto chunk = open_bytes(bytes).value();
  CHECK(chunk.block_count() == 1);
  CHECK(chunk.block_range({0}) == ByteRange{0, 1000});
  CHECK(chunk.stream_count({0}) == 4);
}

TEST_CASE("chunk: codecs and filters that are missing are named", "[codec][chunk][corrupt]") {
  const Bytes good = regular_chunk();
  for (const unsigned format : {5U, 6U, 7U}) {
    INFO("format " << format);
    Bytes bytes = good;
    bytes[2] = static_cast<std::byte>(0x15U | format << 5);
    bytes[22] = std::byte{0xa5};
    // The first stream that needs the codec reports it, because other streams may not need it.
    const auto chunk = open_bytes(bytes);
    REQUIRE(chunk);
    const MemorySource source(bytes);
    Bytes plain(chunk->nbytes());
    const auto read = ChunkReader(source, *chunk).read(0, plain);
    REQUIRE_FALSE(read);
    CHECK(read.error().kind == Errc::unsupported);
    CHECK(read.error().value == (format == 6 ? 0xa5 : format));
  }
  for (const unsigned slot : {0U, 5U}) {
    Bytes bytes = good;
    bytes[16 + slot] = std::byte{200};
    const auto error = open_bytes(bytes).error();
    CHECK(error.kind == Errc::unsupported);
    CHECK(error.value == 200);
    CHECK(error.at == 16 + slot);
  }
}

// Oracle: no read exceeds the limits, so the reader did not allocate more.
TEST_CASE("chunk: a table above the limits is refused before it is read",
          "[codec][chunk][corrupt]") {
  constexpr std::uint64_t kHuge = 2147483647;
  constexpr std::int32_t kMaxNbytes = 2147483615;
  Limits limits;
  limits.block_bytes = 1 << 20;
  limits.chunk_table_bytes = 1 << 16;
  const auto open_vast = [&](const Bytes& head) {
    const test::VastSource source(head, kHuge);
    const auto chunk = Chunk::open(source, 0, kHuge, {}, limits);
    CHECK(source.largest_read() <= 1024);
    return outcome(chunk);
  };
  Bytes bytes = regular_chunk();
  bytes.resize(32);
  put_le(bytes, 4, kMaxNbytes);
  put_le(bytes, 12, kMaxNbytes);
  put_le(bytes, 8, (1 << 20) + 1);
  CHECK(open_vast(bytes) == "over limit: blocksize at 8");
  put_le(bytes, 8, 4096);  // more than half a million blocks
  CHECK(open_vast(bytes) == "over limit: block count at 8");
  bytes[0] = std::byte{6};
  bytes[30] = std::byte{1};
  put_le(bytes, 8, 1 << 20);  // as many variable-length blocks
  CHECK(open_vast(bytes) == "over limit: block count at 8");

  Bytes value = build_special_chunk(SpecialKind::value, 4, 4, counting(4));
  put_le<std::int32_t>(value, 4, 1 << 30);
  put_le<std::int32_t>(value, 12, 32 + (1 << 29));
  CHECK(open_vast(value) == "over limit: repeated value at 12");
}

TEST_CASE("chunk: limits are met exactly", "[codec][chunk][corrupt]") {
  Limits limits;
  limits.block_bytes = 1000;
  limits.chunk_table_bytes = 40;
  CHECK(outcome(open_bytes(regular_chunk(), limits)) == "ok");
  limits.chunk_table_bytes = 39;
  CHECK(outcome(open_bytes(regular_chunk(), limits)) == "over limit: block count at 8");
  limits.chunk_table_bytes = 40;
  limits.block_bytes = 999;
  CHECK(outcome(open_bytes(regular_chunk(), limits)) == "over limit: blocksize at 8");
  const Bytes value = build_special_chunk(SpecialKind::value, 82, 41, noise(41, 1));
  CHECK(outcome(open_bytes(value, limits)) == "over limit: repeated value at 12");
  limits.chunk_table_bytes = 41;
  CHECK(outcome(open_bytes(value, limits)) == "ok");
}

TEST_CASE("chunk: opening reads header and tables, no block", "[codec][chunk][unit]") {
  ChunkSpec spec;
  spec.blocksize = 64;
  spec.dictionary = test::ramp_dictionary(3000, 4);
  const Bytes bytes = build_chunk(ramp(64 * 1000, 4), spec);
  const MemorySource memory(bytes);
  const test::RecordingSource source(memory);
  REQUIRE(Chunk::open(source, 0, bytes.size(), {}, kLimits));
  const std::uint64_t tables = 32 + 4 * 1000 + 4 + 3000;
  CHECK(source.stayed_within(std::array{ByteRange{0, tables}}));
  CHECK(source.bytes_read() <= tables + 1024);
}

TEST_CASE("chunk: a failed read at any step of opening is passed on", "[codec][chunk][corrupt]") {
  ChunkSpec dict;
  dict.blocksize = 16;
  dict.dictionary = test::ramp_dictionary(300, 4);
  ChunkSpec vl;
  vl.vl_block_bytes = {1000, 8000, 9000, 2000};
  for (const Bytes& bytes :
       {build_chunk(ramp(20000, 4), dict), build_chunk(noise(20000, 1), vl),
        build_special_chunk(SpecialKind::value, 600, 300, noise(300, 1)), regular_chunk()}) {
    const MemorySource memory(bytes);
    int steps = 0;
    for (bool failed = true; failed; ++steps) {
      const test::FailingSource source(memory, steps + 1);
      const auto chunk = Chunk::open(source, 0, bytes.size(), {}, kLimits);
      failed = source.has_failed();
      REQUIRE(chunk.has_value() != failed);
      if (!failed) break;
      CHECK(chunk.error().kind == Errc::system);
      CHECK(chunk.error().sys == EIO);
    }
    CHECK(steps >= 1);
  }
}

TEST_CASE("chunk: every truncated prefix is refused", "[codec][chunk][corrupt]") {
  ChunkSpec vl;
  vl.vl_block_bytes = {10, 300, 90};
  ChunkSpec dict;
  dict.dictionary = test::ramp_dictionary(300, 4);
  ChunkSpec old;
  old.blosc1_header = true;
  for (const Bytes& good :
       {regular_chunk(), build_chunk(ramp(400, 4), vl), build_chunk(ramp(400, 4), dict),
        build_chunk(ramp(400, 4), old), build_special_chunk(SpecialKind::value, 60, 3, noise(3, 1)),
        build_special_chunk(SpecialKind::zero, 60, 3)}) {
    for (std::size_t n = 0; n < good.size(); ++n) {
      const auto chunk = open_bytes(std::span(good).first(n));
      INFO("prefix of " << n << " bytes");
      REQUIRE_FALSE(chunk);
      REQUIRE(chunk.error().kind == Errc::truncated);
    }
  }
}

}  // namespace
}  // namespace framefs::codec::chunk_test
