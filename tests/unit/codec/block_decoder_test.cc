#include "codec/chunk/block_decoder.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"
#include "tests/support/stream_encoder.h"

namespace framefs::codec::block_decoder_test {
namespace {

using test::append;
using test::append_le;
using test::Bytes;
using test::counting;
using test::noise;
using test::outcome;
using test::put_le;
using test::ramp;

constexpr auto kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr auto kInt32Min = std::numeric_limits<std::int32_t>::min();

// One stream: its size field and its payload.
Bytes stream(std::int32_t csize, std::span<const std::byte> payload = {}) {
  Bytes out;
  append_le(out, csize);
  append(out, payload);
  return out;
}

Bytes raw_stream(std::span<const std::byte> plain) {
  return stream(static_cast<std::int32_t>(plain.size()), plain);
}

Bytes token(unsigned value) { return {static_cast<std::byte>(value)}; }

struct Shape {
  std::uint8_t typesize = 1;
  bool split = false;
  std::uint8_t filter = 0;  // in the last slot
  std::uint8_t version = 5;
  bool short_header = false;  // of 16 bytes, without filters
};

// A chunk of lz4 whose blocks are given in stored form, for streams that no builder writes.
Bytes chunk_of(const Shape& shape, std::uint32_t nbytes, std::uint32_t blocksize,
               const std::vector<Bytes>& blocks) {
  Bytes out(shape.short_header ? 16 : 32, std::byte{0});
  out[0] = static_cast<std::byte>(shape.version);
  out[2] = shape.split ? std::byte{0x25} : std::byte{0x35};
  out[3] = static_cast<std::byte>(shape.typesize);
  if (shape.short_header) {
    out[2] &= ~std::byte{0x05};  // both shuffle flags mark the long header
  } else {
    out[21] = static_cast<std::byte>(shape.filter);
  }
  put_le(out, 4, nbytes);
  put_le(out, 8, blocksize);
  auto start = static_cast<std::uint32_t>(out.size() + 4 * blocks.size());
  for (const Bytes& block : blocks) {
    append_le(out, start);
    start += static_cast<std::uint32_t>(block.size());
  }
  for (const Bytes& block : blocks) append(out, block);
  put_le(out, 12, static_cast<std::uint32_t>(out.size()));
  return out;
}

// Decodes one block with a new decoder, into a buffer whose old content must not remain.
Result<Bytes> decode_block(const Bytes& bytes, BlockIndex block = {0},
                           std::span<const std::byte> first_block = {}) {
  const MemorySource source(bytes);
  FRAMEFS_TRY(const auto chunk, Chunk::open(source, 0, bytes.size(), {}, Limits{}));
  FRAMEFS_TRY(const auto where, chunk.stored_range(block));
  Bytes stored(where.size);
  FRAMEFS_CHECK(source.read_at(where.offset, stored));
  Bytes out(chunk.block_range(block).size, std::byte{0xee});
  FRAMEFS_CHECK(BlockDecoder().decode(chunk, block, stored, out, first_block));
  return out;
}

// One unsplit block of `n` plain bytes, stored as `stored`.
Result<Bytes> decode_one(std::uint32_t n, const Bytes& stored) {
  return decode_block(chunk_of({}, n, n, {stored}));
}

TEST_CASE("block_decoder: a stream of no bytes is zeros", "[codec][block_decoder][unit]") {
  for (const std::uint32_t n : {1U, 31U, 4096U}) {
    CHECK(decode_one(n, stream(0)).value() == Bytes(n, std::byte{0}));
  }
}

// Oracle: the value of the run is the negated size.
TEST_CASE("block_decoder: a negative size is a run of its value", "[codec][block_decoder][unit]") {
  for (std::int32_t value = 1; value <= 255; ++value) {
    INFO("value " << value);
    CHECK(decode_one(50, stream(-value, token(1))).value() ==
          Bytes(50, static_cast<std::byte>(value)));
  }
}

TEST_CASE("block_decoder: of a run's token only the lowest bit counts",
          "[codec][block_decoder][corrupt]") {
  for (unsigned bits = 0; bits < 256; ++bits) {
    INFO("token " << bits);
    CHECK(outcome(decode_one(50, stream(-7, token(bits)))) ==
          (bits % 2 == 1 ? "ok" : "bad field: stream token at 4"));
  }
}

TEST_CASE("block_decoder: sizes below the lowest run are refused",
          "[codec][block_decoder][corrupt]") {
  for (const std::int32_t csize : {-256, -257, -65536, -kInt32Max, kInt32Min}) {
    INFO("size " << csize);
    CHECK(outcome(decode_one(50, stream(csize, token(1)))) == "bad field: stream size at 0");
  }
  CHECK(outcome(decode_one(50, stream(-1))) == "truncated: stream token at 4");
}

TEST_CASE("block_decoder: a stream longer than the stored bytes is refused",
          "[codec][block_decoder][corrupt]") {
  const Bytes plain = noise(50, 1);
  CHECK(decode_one(50, raw_stream(plain)).value() == plain);
  for (const std::int32_t csize : {51, 1000, kInt32Max - 3, kInt32Max}) {
    INFO("size " << csize);
    CHECK(outcome(decode_one(50, stream(csize, plain))) == "truncated: stream at 4");
  }
  CHECK(outcome(decode_one(50, stream(50, std::span(plain).first(49)))) ==
        "truncated: stream at 4");
  for (const std::size_t n : {0U, 1U, 3U}) {
    Bytes cut(n, std::byte{0});
    cut.resize(std::max<std::size_t>(n, 1));  // an empty block would be refused earlier
    CHECK(outcome(decode_one(50, cut)) == "truncated: stream size at 0");
  }
}

// A stream as long as its decoded size is raw, even if it would also decode as codec data.
TEST_CASE("block_decoder: a stream of its plain size is raw, of any other is for the codec",
          "[codec][block_decoder][unit]") {
  const Bytes plain = ramp(300, 1);
  const Bytes packed = test::compress_stream(test::Codec::lz4, 1, plain, {});
  REQUIRE(packed.size() < plain.size());
  const auto n = static_cast<std::uint32_t>(packed.size());
  CHECK(decode_one(300, raw_stream(packed)).value() == plain);
  CHECK(decode_one(n, raw_stream(packed)).value() == packed);
}

// Oracle: the codec must fill the block exactly.
TEST_CASE("block_decoder: codec data that decode to another size are refused",
          "[codec][block_decoder][corrupt]") {
  const Bytes packed = test::compress_stream(test::Codec::lz4, 1, ramp(300, 1), {});
  for (const std::uint32_t n : {299U, 301U, 1000U}) {
    INFO("block of " << n << " bytes");
    const auto got = decode_one(n, raw_stream(packed));
    REQUIRE_FALSE(got);
    CHECK(got.error().kind != Errc::internal);
    CHECK(got.error().at >= 4);
  }
}

TEST_CASE("block_decoder: bytes behind the last stream are not looked at",
          "[codec][block_decoder][unit]") {
  Bytes stored = raw_stream(counting(50));
  append(stored, noise(20, 1));
  CHECK(decode_one(50, stored).value() == counting(50));
}

// Oracle: the four kinds of streams one after the other, according to the format.
TEST_CASE("block_decoder: each byte of a split block's items has a stream of its own",
          "[codec][block_decoder][unit]") {
  const Bytes plain = ramp(100, 1);
  const Bytes packed = test::compress_stream(test::Codec::lz4, 1, plain, {});
  REQUIRE(packed.size() != plain.size());
  Bytes stored = stream(0);
  append(stored, stream(-200, token(1)));
  append(stored, raw_stream(noise(100, 2)));
  append(stored, raw_stream(packed));
  const Bytes bytes = chunk_of({.typesize = 4, .split = true}, 400, 400, {stored});
  Bytes expect(100, std::byte{0});
  append(expect, Bytes(100, std::byte{200}));
  append(expect, noise(100, 2));
  append(expect, plain);
  CHECK(decode_block(bytes).value() == expect);

  // The same streams with a shuffle: they are the byte planes of the items.
  const Bytes shuffled = chunk_of({.typesize = 4, .split = true, .filter = 1}, 400, 400, {stored});
  const Bytes items = decode_block(shuffled).value();
  bool equal = true;
  for (std::size_t i = 0; i < 100; ++i) {
    for (std::size_t j = 0; j < 4; ++j) equal = equal && items[4 * i + j] == expect[100 * j + i];
  }
  CHECK(equal);
}

TEST_CASE("block_decoder: a failure in a later stream has its place in the block",
          "[codec][block_decoder][corrupt]") {
  Bytes stored = raw_stream(noise(100, 1));
  append(stored, stream(-1, token(1)));
  append(stored, stream(0));
  const std::string at = std::to_string(stored.size());
  const Shape shape{.typesize = 4, .split = true};
  const auto check = [&](const Bytes& last) {
    Bytes all = stored;
    append(all, last);
    return outcome(decode_block(chunk_of(shape, 400, 400, {all})));
  };
  const std::string behind = std::to_string(stored.size() + 4);
  CHECK(check(stream(0)) == "ok");
  CHECK(check({}) == "truncated: stream size at " + at);
  CHECK(check(Bytes(3)) == "truncated: stream size at " + at);
  CHECK(check(stream(-256, token(1))) == "bad field: stream size at " + at);
  CHECK(check(stream(-1, token(2))) == "bad field: stream token at " + behind);
  CHECK(check(stream(100, noise(99, 1))) == "truncated: stream at " + behind);
}

// The format does not define the rest of such a block; unwritten memory must not be returned.
TEST_CASE("block_decoder: a split block that does not divide into its streams is refused",
          "[codec][block_decoder][corrupt]") {
  for (const std::uint32_t n : {3U, 401U, 403U}) {
    Bytes stored;
    for (int i = 0; i < 4; ++i) append(stored, stream(0));
    CHECK(outcome(decode_block(chunk_of({.typesize = 4, .split = true}, n, n, {stored}))) ==
          "bad field: block size of a split block at 0");
  }
}

TEST_CASE("block_decoder: the leftover block is one stream", "[codec][block_decoder][unit]") {
  Bytes first = raw_stream(noise(100, 1));
  for (unsigned i = 2; i <= 4; ++i) append(first, raw_stream(noise(100, i)));
  const Bytes bytes =
      chunk_of({.typesize = 4, .split = true}, 403, 400, {first, raw_stream(counting(3))});
  CHECK(decode_block(bytes, {1}).value() == counting(3));
}

// Blosc1 split blocks only if it paid off: at least 128 bytes per stream, at most 16 streams.  Its
// chunks have the short header.  The first Blosc2 releases wrote the same versions with the long
// header.
TEST_CASE("block_decoder: chunks of Blosc1 split by its rule, later ones by their flag",
          "[codec][block_decoder][unit]") {
  for (const unsigned version : {0U, 1U, 2U, 3U, 5U}) {
    for (const bool short_header : {true, false}) {
      for (const std::size_t n : {std::size_t{508}, std::size_t{512}}) {
        INFO("version " << version << ", short header " << short_header << ", block of " << n);
        const bool expect_split = !short_header || version > 2 || n / 4 >= 128;
        const Bytes plain = noise(n, 1);
        Bytes stored;
        const std::size_t piece = expect_split ? n / 4 : n;
        for (std::size_t at = 0; at < n; at += piece) {
          append(stored, raw_stream(std::span(plain).subspan(at, piece)));
        }
        const Shape shape{.typesize = 4,
                          .split = true,
                          .version = static_cast<std::uint8_t>(version),
                          .short_header = short_header};
        const auto size = static_cast<std::uint32_t>(n);
        const auto got = decode_block(chunk_of(shape, size, size, {stored}));
        INFO(outcome(got));
        REQUIRE(got);
        CHECK(*got == plain);
      }
    }
  }
}

// Oracle: old writers did not filter blocks whose items do not fill groups of eight.  No writer of
// version 1 had the filter; the reference library reads such chunks by the later rule.
TEST_CASE("block_decoder: bitshuffle of a block with a partial group depends on the version",
          "[codec][block_decoder][unit]") {
  const Bytes plain = noise(404, 1);  // 101 items
  for (const unsigned version : {1U, 2U, 3U, 4U, 5U}) {
    INFO("version " << version);
    Bytes bytes = chunk_of({.typesize = 4, .version = static_cast<std::uint8_t>(version)}, 404, 404,
                           {raw_stream(plain)});
    bytes[20] = std::byte{2};
    CHECK((decode_block(bytes).value() == plain) == (version == 2 || version == 3));
  }
}

// A tuner's records take the place of the data and are not filtered.
TEST_CASE("block_decoder: filters do not touch an instrumented chunk",
          "[codec][block_decoder][unit]") {
  const Bytes records = noise(64, 1);
  Bytes bytes = chunk_of({.typesize = 4, .filter = 1}, 64, 16,
                         {raw_stream(std::span(records).subspan(0, 16)),
                          raw_stream(std::span(records).subspan(16, 16)),
                          raw_stream(std::span(records).subspan(32, 16)),
                          raw_stream(std::span(records).subspan(48, 16))});
  CHECK(decode_block(bytes).value() != Bytes(records.begin(), records.begin() + 16));
  bytes[31] = std::byte{0x80};
  bytes[16] = std::byte{99};  // no such filter
  for (std::size_t i = 0; i < 4; ++i) {
    const auto record = std::span(records).subspan(16 * i, 16);
    CHECK(std::ranges::equal(decode_block(bytes, {i}).value(), record));
  }
}

// Oracle: the XOR of the items.
TEST_CASE("block_decoder: delta takes its reference from the first block",
          "[codec][block_decoder][unit]") {
  const Bytes first = noise(100, 1);
  const Bytes stored_second = noise(100, 2);
  const Bytes bytes =
      chunk_of({.filter = 3}, 200, 100, {raw_stream(noise(100, 3)), raw_stream(stored_second)});
  Bytes expect(100);
  std::ranges::transform(stored_second, first, expect.begin(), std::bit_xor());
  CHECK(decode_block(bytes, {1}, first).value() == expect);
  Bytes running = noise(100, 3);
  std::partial_sum(running.begin(), running.end(), running.begin(), std::bit_xor());
  CHECK(decode_block(bytes, {0}).value() == running);
}

// A thread keeps its decoder for blocks of all kinds.
TEST_CASE("block_decoder: a failure leaves nothing behind for the next block",
          "[codec][block_decoder][corrupt]") {
  BlockDecoder decoder;
  for (const auto codec :
       {test::Codec::lz4, test::Codec::zstd, test::Codec::zlib, test::Codec::blosclz}) {
    INFO("codec " << static_cast<int>(codec));
    test::ChunkSpec spec;
    spec.codec = codec;
    spec.filters = {test::Filter::shuffle};
    const Bytes data = ramp(3000, 4);
    const Bytes bytes = build_chunk(data, spec);
    const MemorySource source(bytes);
    const auto chunk = Chunk::open(source, 0, bytes.size(), {}, Limits{}).value();
    const auto where = chunk.stored_range({0}).value();
    Bytes stored(where.size);
    REQUIRE(source.read_at(where.offset, stored));
    Bytes out(data.size());
    REQUIRE(decoder.decode(chunk, {0}, stored, out, {}));
    CHECK(out == data);
    for (std::size_t n = 0; n < stored.size(); ++n) {
      REQUIRE_FALSE(decoder.decode(chunk, {0}, std::span(stored).first(n), out, {}));
    }
    std::ranges::fill(out, std::byte{0xee});
    REQUIRE(decoder.decode(chunk, {0}, stored, out, {}));
    CHECK(out == data);
  }
}

// Oracle: the data.  Writers have used two meanings of the never-split flag beside a dictionary.
TEST_CASE("block_decoder: the second reading of a split flag is tried only after the first fails",
          "[codec][block_decoder][unit]") {
  const Bytes data = ramp(2000, 4);
  for (const bool written_split : {true, false}) {
    INFO("written split " << written_split);
    test::ChunkSpec spec;
    spec.codec = test::Codec::zstd;
    spec.blocksize = 1000;
    spec.split = written_split;
    spec.dictionary = test::ramp_dictionary(300, 4);
    Bytes bytes = build_chunk(data, spec);
    bytes[2] &= ~std::byte{0x10};
    CHECK(std::ranges::equal(decode_block(bytes, {1}).value(), std::span(data).subspan(1000)));
    // Bytes that are invalid in both readings.
    Bytes damaged = bytes;
    std::fill(damaged.begin() + 32 + 8 + 4 + 300, damaged.end(), std::byte{0xfe});
    CHECK(outcome(decode_block(damaged, {0})) == "bad field: stream size at 0");
  }
}

}  // namespace
}  // namespace framefs::codec::block_decoder_test
