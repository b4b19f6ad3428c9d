// The two chunk layouts with additional tables, dictionaries and variable-length blocks, and damage
// to these tables.  See chunk_test.cc for other chunks.

#include <cstdint>
#include <string>
#include <vector>

#include "codec/chunk/chunk.h"
#include "codec/core/byte_reader.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/decode_oracle.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"
#include "tests/support/source_doubles.h"

namespace framefs::codec::chunk_damage_test {
namespace {

using test::build_chunk;
using test::Bytes;
using test::ChunkSpec;
using test::Codec;
using test::noise;
using test::outcome;
using test::put_le;
using test::ramp;

Result<Chunk> open_bytes(std::span<const std::byte> bytes, const Limits& limits = {}) {
  return Chunk::open(MemorySource(bytes), 0, bytes.size(), {}, limits);
}

Result<Bytes> decode_bytes(const Bytes& bytes) {
  const MemorySource source(bytes);
  FRAMEFS_TRY(const auto chunk, Chunk::open(source, 0, bytes.size(), {}, Limits{}));
  return test::decode_whole(source, chunk);
}

constexpr std::size_t kDictBytes = 300;

// Four blocks.  The dictionary's size is at 48, the dictionary at 52.
Bytes dictionary_chunk(Codec codec) {
  ChunkSpec spec;
  spec.codec = codec;
  spec.blocksize = 1000;
  spec.dictionary = test::ramp_dictionary(kDictBytes, 4);
  return build_chunk(ramp(4000, 4), spec);
}

TEST_CASE("chunk: a dictionary of any allowed size is read", "[codec][chunk][unit]") {
  for (const auto codec : {Codec::zstd, Codec::lz4, Codec::lz4hc, Codec::zlib, Codec::blosclz}) {
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{8}, std::size_t{256}, std::size_t{32768}}) {
      INFO("codec " << static_cast<int>(codec) << ", dictionary of " << size << " bytes");
      ChunkSpec spec;
      spec.codec = codec;
      spec.blocksize = 1000;
      spec.dictionary = test::ramp_dictionary(size, 4);
      const Bytes data = ramp(3500, 4);
      const Bytes bytes = build_chunk(data, spec);
      const auto chunk = open_bytes(bytes);
      REQUIRE(chunk);
      CHECK(chunk->dictionary() != nullptr);
      CHECK(decode_bytes(bytes).value() == data);
    }
  }
}

TEST_CASE("chunk: a chunk is charged for the dictionary it keeps", "[codec][chunk][unit]") {
  const auto with = open_bytes(dictionary_chunk(Codec::lz4)).value();
  ChunkSpec spec;
  spec.blocksize = 1000;
  const auto without = open_bytes(build_chunk(ramp(4000, 4), spec)).value();
  CHECK(without.dictionary() == nullptr);
  CHECK(with.memory_bytes() >= without.memory_bytes() + kDictBytes);
}

TEST_CASE("chunk: a dictionary's size outside its bounds is refused", "[codec][chunk][corrupt]") {
  const Bytes good = dictionary_chunk(Codec::lz4);
  const auto room = static_cast<std::int32_t>(good.size() - 52);
  for (const std::int32_t size : {std::numeric_limits<std::int32_t>::min(), -1, 0, room + 1, 32769,
                                  std::numeric_limits<std::int32_t>::max()}) {
    INFO("size " << size);
    Bytes bytes = good;
    put_le(bytes, 48, size);
    CHECK(outcome(open_bytes(bytes)) == "bad field: dictionary size at 48");
  }
  // A chunk large enough for a dictionary that exceeds the maximum.
  ChunkSpec spec;
  spec.blocksize = 60000;
  spec.dictionary = test::ramp_dictionary(kDictBytes, 4);
  Bytes large = build_chunk(noise(120000, 1), spec);
  put_le(large, 40, 32768);
  CHECK(outcome(open_bytes(large)) == "ok");
  put_le(large, 40, 32769);
  CHECK(outcome(open_bytes(large)) == "bad field: dictionary size at 40");
}

TEST_CASE("chunk: a chunk that ends before its dictionary's size is refused",
          "[codec][chunk][corrupt]") {
  for (const std::size_t left : {0U, 3U}) {
    Bytes bytes = dictionary_chunk(Codec::lz4);
    bytes.resize(48 + left);
    put_le(bytes, 12, static_cast<std::int32_t>(bytes.size()));
    CHECK(outcome(open_bytes(bytes)) == "truncated: dictionary size at 48");
  }
}

TEST_CASE("chunk: a block that starts inside the dictionary is refused",
          "[codec][chunk][corrupt]") {
  Bytes bytes = dictionary_chunk(Codec::lz4);
  const std::uint32_t begin = 52 + kDictBytes;
  for (const std::uint32_t start : {48U, 52U, begin - 1}) {
    put_le(bytes, 32, start);
    CHECK(outcome(open_bytes(bytes).value().stored_range({0})) == "bad field: block start at 32");
  }
  put_le(bytes, 32, begin);
  CHECK(outcome(open_bytes(bytes).value().stored_range({0})) == "ok");
}

TEST_CASE("chunk: a damaged stream beside a dictionary is not taken for an unsplit block",
          "[codec][chunk][corrupt]") {
  const Bytes data = ramp(3500, 4);
  ChunkSpec spec;
  spec.codec = Codec::lz4;
  spec.blocksize = 1000;
  spec.filters = {test::Filter::shuffle};
  spec.split = true;
  spec.dictionary = test::ramp_dictionary(512, 4);
  Bytes bytes = build_chunk(data, spec);
  const auto first_stream = load_le<std::uint32_t>(bytes.data() + kExtendedHeaderBytes);
  // As a stream, a size of 0 is a run of zeros.
  std::fill_n(bytes.begin() + first_stream, 4, std::byte{0});
  CHECK_FALSE(decode_bytes(bytes));
}

// Oracle: the data.  Writers before 2.13 did not split chunks with a dictionary, whatever the flag.
TEST_CASE("chunk: both readings of the split flag beside a dictionary decode",
          "[codec][chunk][unit]") {
  const Bytes data = ramp(3500, 4);
  for (const auto codec : {Codec::zstd, Codec::lz4}) {
    for (const bool split : {false, true}) {
      INFO("codec " << static_cast<int>(codec) << ", split " << split);
      ChunkSpec spec;
      spec.codec = codec;
      spec.blocksize = 1000;
      spec.filters = {test::Filter::shuffle};
      spec.split = split;
      spec.dictionary = test::ramp_dictionary(512, 4);
      Bytes bytes = build_chunk(data, spec);
      CHECK(open_bytes(bytes).value().split_is_ambiguous() == split);
      bytes[2] &= ~std::byte{0x10};  // never-split
      CHECK(open_bytes(bytes).value().split_is_ambiguous());
      CHECK(decode_bytes(bytes).value() == data);
      if (split) continue;
      // If the flag is set, there is only one reading.
      Bytes never = bytes;
      never[2] |= std::byte{0x10};
      CHECK(decode_bytes(never).value() == data);
    }
  }
}

const std::vector<std::uint32_t> kVlSizes = {700, 1, 1200, 99};

// Starts at 32, 36, 40 and 44; blocks from 48 on.
Bytes vl_chunk() {
  ChunkSpec spec;
  spec.vl_block_bytes = kVlSizes;
  spec.filters = {test::Filter::shuffle};
  return build_chunk(ramp(2000, 4), spec);
}

std::uint32_t vl_start(const Bytes& chunk, std::size_t block) {
  return load_le<std::uint32_t>(chunk.data() + 32 + 4 * block);
}

// Oracle: the sums of the block sizes.
TEST_CASE("chunk: variable-length blocks map bytes to blocks", "[codec][chunk][unit]") {
  const Bytes bytes = vl_chunk();
  const auto chunk = open_bytes(bytes).value();
  REQUIRE(chunk.block_count() == kVlSizes.size());
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < kVlSizes.size(); ++i) {
    INFO("block " << i);
    CHECK(chunk.block_range({i}) == ByteRange{begin, kVlSizes[i]});
    CHECK(chunk.block_at(begin).value == i);
    CHECK(chunk.block_at(begin + kVlSizes[i] - 1).value == i);
    CHECK(chunk.stream_count({i}) == 1);
    const std::uint64_t end = i + 1 < kVlSizes.size() ? vl_start(bytes, i + 1) : bytes.size();
    CHECK(chunk.stored_range({i}).value() ==
          ByteRange{vl_start(bytes, i), end - vl_start(bytes, i)});
    begin += kVlSizes[i];
  }
  CHECK_FALSE(chunk.split_is_ambiguous());
}

// Oracle: the data, for every codec, with and without a dictionary, with raw and compressed blocks.
TEST_CASE("chunk: variable-length blocks of every codec decode", "[codec][chunk][unit]") {
  Bytes data = ramp(30000, 4);
  const Bytes tail = noise(500, 3);
  test::append(data, tail);
  for (const auto codec : {Codec::zstd, Codec::lz4, Codec::lz4hc, Codec::zlib, Codec::blosclz}) {
    for (const std::size_t dict : {std::size_t{0}, std::size_t{256}}) {
      INFO("codec " << static_cast<int>(codec) << ", dictionary of " << dict << " bytes");
      ChunkSpec spec;
      spec.codec = codec;
      spec.filters = {test::Filter::bitshuffle};
      spec.vl_block_bytes = {1, 2, 3, 9994, 20000, 500};
      spec.dictionary = dict > 0 ? test::ramp_dictionary(dict, 4) : Bytes{};
      const Bytes bytes = build_chunk(data, spec);
      CHECK(decode_bytes(bytes).value() == data);
      const MemorySource source(bytes);
      const auto chunk = Chunk::open(source, 0, bytes.size(), {}, Limits{}).value();
      CHECK(test::decode_by_blocks(source, chunk).value() == data);
    }
  }
}

TEST_CASE("chunk: starts of variable-length blocks must ascend with room for a block",
          "[codec][chunk][corrupt]") {
  const Bytes good = vl_chunk();
  const auto size = static_cast<std::uint32_t>(good.size());
  struct Case {
    std::size_t block;
    std::uint32_t start;
  };
  const std::uint32_t second = vl_start(good, 1);
  for (const auto& c : {Case{0, 0}, Case{0, 32}, Case{0, 47}, Case{0, second - 4}, Case{0, second},
                        Case{0, 0xffffffffU}, Case{1, vl_start(good, 0)}, Case{1, 47},
                        Case{1, vl_start(good, 0) + 4}, Case{2, second}, Case{2, second + 4},
                        Case{3, size - 4}, Case{3, size}, Case{3, size + 1}, Case{3, 0x7fffffffU},
                        Case{3, 0x80000000U}, Case{3, 0xfffffffeU}}) {
    INFO("block " << c.block << " starts at " << c.start);
    Bytes bytes = good;
    put_le(bytes, 32 + 4 * c.block, c.start);
    const auto error = open_bytes(bytes).error();
    CHECK(error.kind == Errc::bad_field);
    CHECK(std::string(error.field) == "block start");
  }
}

TEST_CASE("chunk: sizes of variable-length blocks must sum up to the chunk's",
          "[codec][chunk][corrupt]") {
  const Bytes good = vl_chunk();
  struct Case {
    std::size_t block;
    std::int32_t size;
    bool size_is_to_blame;  // else the error names the sum
  };
  for (const auto& c :
       {Case{0, 0, true}, Case{0, -1, true},
        Case{0, std::numeric_limits<std::int32_t>::min(), true}, Case{0, 2001, true},
        Case{0, std::numeric_limits<std::int32_t>::max(), true}, Case{3, 100, true},
        Case{3, 98, false}, Case{1, 2, true}, Case{2, 1199, false}}) {
    INFO("block " << c.block << " of " << c.size << " bytes");
    Bytes bytes = good;
    put_le(bytes, vl_start(good, c.block), c.size);
    const std::size_t blamed = c.block == 1 ? 3 : c.block;  // the first block past the end
    CHECK(outcome(open_bytes(bytes)) ==
          (c.size_is_to_blame ? "bad field: block size at " + std::to_string(vl_start(good, blamed))
                              : "bad field: nbytes at 4"));
  }
  Bytes bytes = good;
  put_le(bytes, 4, 2001);
  CHECK(outcome(open_bytes(bytes)) == "bad field: nbytes at 4");
}

TEST_CASE("chunk: more variable-length blocks than the chunk has bytes are refused",
          "[codec][chunk][corrupt]") {
  Bytes bytes = vl_chunk();
  for (const std::int32_t count :
       {static_cast<std::int32_t>((bytes.size() - 32) / 4 + 1), 536866816}) {
    put_le(bytes, 8, count);
    CHECK(outcome(open_bytes(bytes)) == "bad field: block count at 8");
  }
  put_le(bytes, 8, 3);  // one block too few
  CHECK_FALSE(open_bytes(bytes).has_value());
}

TEST_CASE("chunk: a variable-length block above the limit is refused unread",
          "[codec][chunk][corrupt]") {
  Limits limits;
  limits.block_bytes = 1200;
  CHECK(outcome(open_bytes(vl_chunk(), limits)) == "ok");
  limits.block_bytes = 1199;
  CHECK(outcome(open_bytes(vl_chunk(), limits)) ==
        "over limit: block size at " + std::to_string(vl_start(vl_chunk(), 2)));
}

TEST_CASE("chunk: delta over variable-length blocks is refused", "[codec][chunk][corrupt]") {
  Bytes bytes = vl_chunk();
  bytes[16] = std::byte{3};
  const auto error = open_bytes(bytes).error();
  CHECK(error.kind == Errc::unsupported);
  CHECK(error.at == 16);
}

// Another process writes to the file: the size at decoding differs from the size that open() read.
TEST_CASE("chunk: a variable-length block that changes its size after opening is refused",
          "[codec][chunk][corrupt]") {
  Bytes bytes = vl_chunk();
  const MemorySource source(bytes);
  const auto chunk = Chunk::open(source, 0, bytes.size(), {}, Limits{}).value();
  for (const std::int32_t size : {0, -1, 699, 701, std::numeric_limits<std::int32_t>::max()}) {
    put_le(bytes, vl_start(bytes, 0), size);
    CHECK(outcome(test::decode_whole(source, chunk)) == "bad field: block size at 0");
  }
}

TEST_CASE("chunk: many small variable-length blocks are read a page at a time",
          "[codec][chunk][unit]") {
  ChunkSpec spec;
  spec.codec = Codec::zlib;
  spec.vl_block_bytes = std::vector<std::uint32_t>(5000, 3);
  const Bytes data = noise(15000, 9);
  const Bytes bytes = build_chunk(data, spec);
  const MemorySource memory(bytes);
  const test::RecordingSource source(memory);
  const auto chunk = Chunk::open(source, 0, bytes.size(), {}, Limits{}).value();
  CHECK(source.reads().size() < 20);
  CHECK(test::decode_whole(memory, chunk).value() == data);
}

}  // namespace
}  // namespace framefs::codec::chunk_damage_test
