// Decoding parts of blocks: BlockDecoder::decode_part() and the functions that it uses.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "codec/chunk/block_decoder.h"
#include "codec/compressor/blosclz.h"
#include "codec/compressor/lz4_decoder.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/random_seed.h"
#include "tests/support/sample_data.h"
#include "tests/support/stream_encoder.h"

namespace framefs::codec::block_part_test {
namespace {

using test::Bytes;
using test::Codec;
using test::Filter;

constexpr std::uint32_t kBlocksize = 960;  // a multiple of all tested typesizes except one

struct Opened {
  explicit Opened(Bytes chunk_bytes) : bytes(std::move(chunk_bytes)), source(bytes) {}
  Result<Chunk> open() { return Chunk::open(source, 0, bytes.size(), {}, Limits{}); }
  Bytes bytes;
  MemorySource source;
};

// Decodes only the bytes `part` of a block, in a buffer whose other bytes are undefined.
Result<Bytes> decode_part(const Opened& opened, const Chunk& chunk, BlockIndex block,
                          ByteRange part) {
  FRAMEFS_TRY(const auto where, chunk.stored_range(block));
  Bytes stored(where.size);
  FRAMEFS_CHECK(opened.source.read_at(where.offset, stored));
  Bytes out(chunk.block_range(block).size, std::byte{0xee});
  FRAMEFS_CHECK(BlockDecoder().decode_part(chunk, block, stored, out, part));
  const auto begin = out.begin() + static_cast<std::ptrdiff_t>(part.offset);
  return Bytes(begin, begin + static_cast<std::ptrdiff_t>(part.size));
}

struct Case {
  test::ChunkSpec spec;
  std::string name;
};

std::vector<Case> cases() {
  const std::vector<std::vector<Filter>> filters = {
      {}, {Filter::shuffle}, {Filter::bitshuffle}, {Filter::shuffle, Filter::bytedelta}};
  std::vector<Case> all;
  for (const auto codec : {Codec::lz4, Codec::blosclz, Codec::zlib, Codec::zstd}) {
    for (std::size_t filter = 0; filter < filters.size(); ++filter) {
      for (const std::uint32_t typesize : {1U, 2U, 4U, 7U, 8U, 40U}) {
        for (const bool split : {false, true}) {
          if (split && kBlocksize % typesize != 0) continue;
          test::ChunkSpec spec;
          spec.codec = codec;
          spec.typesize = typesize;
          spec.blocksize = kBlocksize;
          spec.filters = filters[filter];
          spec.split = split;
          all.push_back({spec, "codec " + std::to_string(static_cast<int>(codec)) + ", filters " +
                                   std::to_string(filter) + ", typesize " +
                                   std::to_string(typesize) + (split ? ", split" : "")});
        }
      }
    }
  }
  return all;
}

// Parts of all kinds: every prefix, every single byte, and some from the middle.
std::vector<ByteRange> parts_of(std::uint64_t size, std::mt19937& random) {
  std::vector<ByteRange> parts;
  for (std::uint64_t n = 1; n <= size; n += n < 130 ? 1 : 41) parts.push_back({0, n});
  for (std::uint64_t at = 0; at < size; at += at < 66 ? 1 : 29) parts.push_back({at, 1});
  for (int i = 0; i < 30; ++i) {
    const auto at = random() % size;
    parts.push_back({at, 1 + random() % (size - at)});
  }
  parts.push_back({size - 1, 1});
  return parts;
}

// Oracle: the bytes that were encoded.
TEST_CASE("block_decoder: any part of a block equals that range of the whole block",
          "[codec][block_decoder][unit]") {
  const auto seed = test::random_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const auto& [spec, name] : cases()) {
    // A full block and a leftover block.
    const auto data = test::ramp(kBlocksize + 333, spec.typesize, 5);
    Opened opened(test::build_chunk(data, spec));
    const auto chunk = opened.open();
    REQUIRE(chunk);
    for (BlockIndex block; block.value < chunk->block_count(); ++block.value) {
      const auto range = chunk->block_range(block);
      for (const auto part : parts_of(range.size, random)) {
        const auto got = decode_part(opened, *chunk, block, part);
        const auto wanted = std::span(data).subspan(range.offset + part.offset, part.size);
        if (!got || !std::ranges::equal(*got, wanted)) {
          FAIL(name << ", block " << block.value << ", " << part.size << " bytes from "
                    << part.offset);
        }
      }
    }
  }
  SUCCEED("all agreed");
}

// Oracle: the same bytes of the whole block, if that decodes.
TEST_CASE(
    "block_decoder: parts of damaged blocks stay within them, and agree where the whole decodes",
    "[codec][block_decoder][corrupt]") {
  const auto seed = test::random_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const auto& [spec, name] : cases()) {
    const auto good = test::build_chunk(test::ramp(kBlocksize, spec.typesize, 6), spec);
    for (int round = 0; round < 40; ++round) {
      auto bytes = good;
      const std::size_t at = 36 + random() % (bytes.size() - 36);  // after header and block start
      bytes[at] ^= static_cast<std::byte>(1 + random() % 255);
      Opened opened(std::move(bytes));
      const auto chunk = opened.open();
      REQUIRE(chunk);
      const auto where = chunk->stored_range({0});
      REQUIRE(where);
      Bytes whole(kBlocksize);
      const auto decoded = BlockDecoder().decode(
          *chunk, {0}, std::span(opened.bytes).subspan(where->offset, where->size), whole, {});
      const ByteRange part{random() % kBlocksize, 1 + random() % 100};
      const ByteRange inside{part.offset, std::min(part.size, kBlocksize - part.offset)};
      const auto got = decode_part(opened, *chunk, {0}, inside);
      if (decoded) {
        REQUIRE(got);
        const bool same = std::ranges::equal(
            *got, std::span<const std::byte>(whole).subspan(inside.offset, inside.size));
        if (!same) FAIL(name << ", byte " << at);
      } else if (!got) {
        CHECK(got.error().kind != Errc::internal);
      }
    }
  }
}

// A chunk of one block whose only stream is `stream`.
Bytes chunk_of_stream(const test::ChunkSpec& spec, std::span<const std::byte> stream) {
  constexpr std::size_t kCbytesAt = 12;
  constexpr std::size_t kBlockAt = 36;  // after the header and the block's start
  Bytes chunk = test::build_chunk(test::ramp(kBlocksize, spec.typesize), spec);
  chunk.resize(kBlockAt);
  test::append_le(chunk, static_cast<std::int32_t>(stream.size()));
  test::append(chunk, stream);
  test::put_le(chunk, kCbytesAt, static_cast<std::uint32_t>(chunk.size()));
  return chunk;
}

// Leaves `secret` in the scratch memory of `decoder`, as another user's file would.
void read_secret(BlockDecoder& decoder, std::byte secret) {
  test::ChunkSpec spec;
  spec.typesize = 4;
  spec.blocksize = kBlocksize;
  spec.filters = {Filter::shuffle};
  Opened opened(test::build_chunk(Bytes(kBlocksize, secret), spec));
  const auto chunk = opened.open();
  REQUIRE(chunk);
  const auto where = chunk->stored_range({0});
  REQUIRE(where);
  const auto stored = std::span(opened.bytes).subspan(where->offset, where->size);
  Bytes out(kBlocksize);
  REQUIRE(decoder.decode(*chunk, {0}, stored, out, {}));
  REQUIRE(std::ranges::count(out, secret) == std::ptrdiff_t{kBlocksize});
}

// Oracle: the match refers to no byte of the block, so that a decoder has no valid bytes for it.
TEST_CASE("block_decoder: a match without a source shows nothing that the thread decoded before",
          "[codec][block_decoder][lz4][corrupt]") {
  // One literal; a match of 902 bytes at a distance to be filled in; 57 literals.
  Bytes stream = {std::byte{0x1f}, std::byte{'a'}, std::byte{0},   std::byte{0},    std::byte{255},
                  std::byte{255},  std::byte{255}, std::byte{118}, std::byte{0xf0}, std::byte{42}};
  stream.resize(stream.size() + 57, std::byte{'z'});
  for (const auto distance : {std::uint16_t{0}, std::uint16_t{2}, std::uint16_t{500}}) {
    test::put_le(stream, 2, distance);
    for (const bool shuffled : {false, true}) {
      test::ChunkSpec spec;
      spec.typesize = 4;
      spec.blocksize = kBlocksize;
      if (shuffled) spec.filters = {Filter::shuffle};
      Opened opened(chunk_of_stream(spec, stream));
      const auto chunk = opened.open();
      REQUIRE(chunk);
      const auto where = chunk->stored_range({0});
      REQUIRE(where);
      const auto stored = std::span(opened.bytes).subspan(where->offset, where->size);
      for (const auto part : {ByteRange{0, 400}, ByteRange{100, 16}, ByteRange{0, 900}}) {
        INFO("distance " << distance << ", " << part.size << " from " << part.offset
                         << (shuffled ? ", shuffled" : ""));
        BlockDecoder decoder;
        read_secret(decoder, std::byte{0x5e});
        Bytes out(kBlocksize, std::byte{0x5e});
        const auto got = decoder.decode_part(*chunk, {0}, stored, out, part);
        REQUIRE_FALSE(got);
        CHECK(got.error().kind == Errc::bad_field);
        CHECK_FALSE(decoder.decode(*chunk, {0}, stored, out, {}));
      }
    }
  }
}

TEST_CASE("block_decoder: blocks that need another one have no parts",
          "[codec][block_decoder][unit]") {
  const auto has_parts = [](const test::ChunkSpec& spec) {
    Opened opened(test::build_chunk(test::ramp(kBlocksize, spec.typesize), spec));
    const auto chunk = opened.open();
    REQUIRE(chunk);
    return BlockDecoder::has_parts(*chunk);
  };
  test::ChunkSpec spec;
  spec.blocksize = kBlocksize;
  spec.typesize = 4;
  spec.filters = {Filter::shuffle};
  CHECK(has_parts(spec));
  spec.codec = Codec::zstd;
  CHECK(has_parts(spec));
  spec.filters = {Filter::delta};
  CHECK_FALSE(has_parts(spec));
}

// Decodes every number of bytes of one stream.  Later bytes of the buffer may be anything; bytes
// outside the buffer must not change.
TEST_CASE("codecs: every beginning of a stream is that of the whole",
          "[codec][lz4][blosclz][unit]") {
  const auto plain = test::ramp(2000, 4, 9);
  const auto lz4 = test::compress_stream(Codec::lz4, 5, plain, {});
  const auto blosclz = test::compress_stream(Codec::blosclz, 5, plain, {});
  for (std::size_t count = 0; count <= plain.size(); ++count) {
    Bytes out(plain.size(), std::byte{0xee});
    const bool lz4_is_good =
        decode_lz4_prefix(lz4, out, count).has_value() &&
        std::equal(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count), plain.begin());
    Bytes again(plain.size(), std::byte{0xee});
    const bool blosclz_is_good =
        decode_blosclz_prefix(blosclz, again, count).has_value() &&
        std::equal(again.begin(), again.begin() + static_cast<std::ptrdiff_t>(count),
                   plain.begin());
    if (!lz4_is_good || !blosclz_is_good) FAIL(count << " bytes");
  }
  SUCCEED("all agreed");
}

// Oracle: a stream that ends before the requested bytes cannot contain them.
TEST_CASE("codecs: a stream that is cut off gives no bytes that are not in it",
          "[codec][lz4][blosclz][corrupt]") {
  const auto plain = test::ramp(500, 4, 9);
  for (const auto codec : {Codec::lz4, Codec::blosclz}) {
    const auto good = test::compress_stream(codec, 5, plain, {});
    for (std::size_t size = 0; size < good.size(); ++size) {
      const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
      Bytes out(plain.size());
      const auto decode = codec == Codec::lz4 ? decode_lz4_prefix : decode_blosclz_prefix;
      // All bytes but one: they need the missing part of the stream, except for the last few bytes.
      const auto got = decode(cut, out, plain.size() - 1);
      if (got && size + 16 < good.size()) {
        FAIL("codec " << static_cast<int>(codec) << ", " << size << " of " << good.size());
      }
    }
  }
  SUCCEED("all refused");
}

}  // namespace
}  // namespace framefs::codec::block_part_test
