#include "codec/chunk/chunk_reader.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "codec/core/byte_reader.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/damage.h"
#include "tests/support/decode_oracle.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"
#include "tests/support/source_doubles.h"

namespace framefs::codec::chunk_reader_test {
namespace {

using test::build_chunk;
using test::Bytes;
using test::ChunkSpec;
using test::Codec;
using test::Filter;
using test::noise;
using test::outcome;
using test::put_le;
using test::ramp;

const std::vector<Codec> kCodecs = {Codec::memcpy, Codec::blosclz, Codec::lz4,
                                    Codec::lz4hc,  Codec::zlib,    Codec::zstd};

// Checks that three ways to decode return the data.
void check_decodes(const Bytes& bytes, const Bytes& data) {
  const MemorySource source(bytes);
  const auto chunk = Chunk::open(source, 0, bytes.size(), {}, Limits{});
  INFO(outcome(chunk));
  REQUIRE(chunk);
  const auto whole = test::decode_whole(source, *chunk);
  INFO(outcome(whole));
  REQUIRE(whole);
  CHECK(*whole == data);
  CHECK(test::decode_by_blocks(source, *chunk).value() == data);
  std::mt19937 random(1);
  CHECK(test::subranges_agree(source, *chunk, data, random, 8));
}

TEST_CASE("chunk_reader: chunks of every codec and filter are read back",
          "[codec][chunk_reader][unit]") {
  const std::vector<std::vector<Filter>> pipelines = {
      {},
      {Filter::shuffle},
      {Filter::bitshuffle},
      {Filter::delta},
      {Filter::delta, Filter::shuffle},
      {Filter::delta, Filter::bitshuffle, Filter::shuffle},
      {Filter::shuffle, Filter::bytedelta}};
  for (const auto codec : kCodecs) {
    for (const auto& filters : pipelines) {
      for (const std::uint32_t typesize : {1U, 4U, 7U, 8U, 255U}) {
        for (const bool split : {false, true}) {
          INFO("codec " << static_cast<int>(codec) << ", " << filters.size()
                        << " filters, typesize " << typesize << ", split " << split);
          ChunkSpec spec;
          spec.codec = codec;
          spec.typesize = typesize;
          spec.filters = codec == Codec::memcpy ? std::vector<Filter>{} : filters;
          spec.split = split;
          spec.blocksize = 16 * typesize;
          const Bytes data =
              ramp(40 * typesize + 3, typesize);  // a leftover block with a part item
          check_decodes(build_chunk(data, spec), data);
        }
      }
    }
  }
}

TEST_CASE("chunk_reader: chunks with the header of Blosc1 are read",
          "[codec][chunk_reader][unit]") {
  for (const auto codec : kCodecs) {
    for (const auto filter : {Filter::shuffle, Filter::delta}) {
      for (const std::uint32_t items : {100U, 200U, 1000U}) {
        INFO("codec " << static_cast<int>(codec) << ", " << items << " items to a block");
        ChunkSpec spec;
        spec.codec = codec;
        spec.blosc1_header = true;
        spec.filters = {filter};
        spec.split = items >= 128;  // as Blosc1 does
        spec.blocksize = 4 * items;
        const Bytes data = ramp(10001, 4);
        Bytes bytes = build_chunk(data, spec);
        const std::byte flags = bytes[2];
        bytes[2] &= ~std::byte{0x10};  // early releases had no such flag
        check_decodes(bytes, data);
        bytes[0] = std::byte{1};
        check_decodes(bytes, data);
        bytes[0] = std::byte{5};  // written by Blosc2 with the old header: the flag counts
        bytes[2] = flags;
        check_decodes(bytes, data);
      }
    }
  }
}

TEST_CASE("chunk_reader: versions 3 to 5 and newer ones without news are read alike",
          "[codec][chunk_reader][unit]") {
  const Bytes data = ramp(4000, 4);
  for (const unsigned version : {4U, 5U, 6U, 7U, 200U}) {
    ChunkSpec spec;
    spec.filters = {Filter::bitshuffle};
    spec.version = static_cast<std::uint8_t>(version);
    spec.blocksize = 404;  // 101 items: the last group of eight is partial
    check_decodes(build_chunk(data, spec), data);
  }
  ChunkSpec spec;
  spec.version = 3;
  Bytes bytes = build_chunk(data, spec);
  bytes[21] = std::byte{99};  // a reserved byte in version 3
  check_decodes(bytes, data);
}

// Rearranges the blocks of a chunk so that they are stored in `order`, as a threaded writer may do.
Bytes store_in_order(const Bytes& chunk, const std::vector<std::size_t>& order) {
  const auto start = [&](std::size_t block) {
    return block < order.size() ? load_le<std::uint32_t>(chunk.data() + 32 + 4 * block)
                                : static_cast<std::uint32_t>(chunk.size());
  };
  Bytes out(chunk.begin(), chunk.begin() + start(0));
  for (const std::size_t block : order) {
    put_le(out, 32 + 4 * block, static_cast<std::uint32_t>(out.size()));
    test::append(out, std::span(chunk).subspan(start(block), start(block + 1) - start(block)));
  }
  return out;
}

TEST_CASE("chunk_reader: blocks stored in any order are read in theirs",
          "[codec][chunk_reader][unit]") {
  std::mt19937 random(5);
  const Bytes data = ramp(9999, 4);
  for (const auto codec : {Codec::lz4, Codec::zlib, Codec::zstd, Codec::blosclz}) {
    for (const bool split : {false, true}) {
      ChunkSpec spec;
      spec.codec = codec;
      spec.blocksize = 1000;
      spec.filters = {Filter::delta, Filter::shuffle};
      spec.split = split;
      const Bytes good = build_chunk(data, spec);
      std::vector<std::size_t> order(10);
      std::iota(order.begin(), order.end(), 0);
      for (int i = 0; i < 4; ++i) {
        check_decodes(store_in_order(good, order), data);
        std::ranges::shuffle(order, random);
      }
    }
  }
}

TEST_CASE("chunk_reader: two blocks may share stored bytes", "[codec][chunk_reader][unit]") {
  ChunkSpec spec;
  spec.blocksize = 500;
  Bytes data = noise(500, 1);
  test::append(data, noise(500, 1));
  Bytes bytes = build_chunk(data, spec);
  put_le(bytes, 36, load_le<std::uint32_t>(bytes.data() + 32));
  check_decodes(bytes, data);
}

TEST_CASE("chunk_reader: chunks with typesizes too large for the header are read",
          "[codec][chunk_reader][unit]") {
  ChunkSpec spec;
  spec.typesize = 300;
  spec.blocksize = 3000;
  spec.filters = {Filter::shuffle};
  const Bytes data = ramp(10000, 300);
  check_decodes(build_chunk(data, spec), data);
}

TEST_CASE("chunk_reader: special chunks are read from any place", "[codec][chunk_reader][unit]") {
  const Bytes value = noise(300, 1);
  Bytes all;
  for (int i = 0; i < 10; ++i) test::append(all, value);
  check_decodes(build_special_chunk(test::SpecialKind::value, 3000, 300, value), all);
  check_decodes(build_special_chunk(test::SpecialKind::zero, 3001, 4), Bytes(3001, std::byte{0}));
  check_decodes(build_special_chunk(test::SpecialKind::uninit, 3000, 4), Bytes(3000, std::byte{0}));
}

TEST_CASE("chunk_reader: a range past the chunk's end is refused",
          "[codec][chunk_reader][corrupt]") {
  ChunkSpec plain;
  plain.codec = Codec::memcpy;
  ChunkSpec vl;
  vl.vl_block_bytes = {400, 600};
  const Bytes data = ramp(1000, 4);
  for (const Bytes& bytes : {build_chunk(data, {}), build_chunk(data, plain), build_chunk(data, vl),
                             build_special_chunk(test::SpecialKind::zero, 1000, 4)}) {
    const MemorySource source(bytes);
    const auto chunk = Chunk::open(source, 0, bytes.size(), {}, Limits{}).value();
    ChunkReader reader(source, chunk);
    Bytes out(10);
    CHECK(reader.read(990, out).has_value());
    CHECK(reader.read(1000, {}).has_value());
    CHECK(outcome(reader.read(1001, {})) == "truncated: chunk at 1001");
    for (const std::uint64_t offset :
         {std::uint64_t{991}, std::uint64_t{1000}, ~std::uint64_t{0}, ~std::uint64_t{0} - 9}) {
      CHECK(outcome(reader.read(offset, out)) == "truncated: chunk at " + std::to_string(offset));
    }
  }
}

// Oracle: the stored ranges according to open().
TEST_CASE("chunk_reader: a read touches the stored bytes of its blocks alone",
          "[codec][chunk_reader][unit]") {
  for (const bool delta : {false, true}) {
    ChunkSpec spec;
    spec.blocksize = 1000;
    spec.filters = delta ? std::vector{Filter::delta} : std::vector{Filter::shuffle};
    const Bytes data = ramp(10000, 4);
    const Bytes bytes = build_chunk(data, spec);
    const MemorySource memory(bytes);
    const auto chunk = Chunk::open(memory, 0, bytes.size(), {}, Limits{}).value();
    for (std::uint64_t offset = 0; offset < data.size(); offset += 777) {
      INFO("delta " << delta << ", offset " << offset);
      const test::RecordingSource source(memory);
      ChunkReader reader(source, chunk);
      Bytes out(std::min<std::size_t>(1500, data.size() - offset));
      REQUIRE(reader.read(offset, out));
      CHECK(std::ranges::equal(out, std::span(data).subspan(offset, out.size())));
      std::vector<ByteRange> allowed;
      const auto last = chunk.block_at(offset + out.size() - 1).value;
      for (auto block = chunk.block_at(offset).value; block <= last; ++block) {
        allowed.push_back(chunk.stored_range({block}).value());
      }
      if (delta && last > 0) allowed.push_back(chunk.stored_range({0}).value());
      CHECK(source.stayed_within(allowed));
      CHECK(source.reads().size() == allowed.size());
    }
  }
}

TEST_CASE("chunk_reader: the reference of delta is fetched once", "[codec][chunk_reader][unit]") {
  ChunkSpec spec;
  spec.blocksize = 1000;
  spec.filters = {Filter::delta};
  const Bytes bytes = build_chunk(ramp(10000, 4), spec);
  const MemorySource memory(bytes);
  const auto chunk = Chunk::open(memory, 0, bytes.size(), {}, Limits{}).value();
  test::RecordingSource source(memory);
  ChunkReader reader(source, chunk);
  Bytes out(1000);
  REQUIRE(reader.read_block({5}, out));
  source.forget();
  REQUIRE(reader.read_block({7}, out));
  CHECK(source.stayed_within(std::array{chunk.stored_range({7}).value()}));
}

TEST_CASE("chunk_reader: plain and special bodies are read without the bytes around them",
          "[codec][chunk_reader][unit]") {
  ChunkSpec spec;
  spec.codec = Codec::memcpy;
  const Bytes bytes = build_chunk(noise(5000, 1), spec);
  const MemorySource memory(bytes);
  const auto chunk = Chunk::open(memory, 0, bytes.size(), {}, Limits{}).value();
  const test::RecordingSource source(memory);
  Bytes out(10);
  REQUIRE(ChunkReader(source, chunk).read(1234, out));
  CHECK(source.reads() == std::vector<ByteRange>{{32 + 1234, 10}});

  const Bytes zeros = build_special_chunk(test::SpecialKind::zero, 5000, 4);
  const MemorySource zero_memory(zeros);
  const auto zero = Chunk::open(zero_memory, 0, zeros.size(), {}, Limits{}).value();
  const test::RecordingSource untouched(zero_memory);
  REQUIRE(ChunkReader(untouched, zero).read(7, out));
  CHECK(untouched.reads().empty());
}

// Oracle: the data, from the reader that failed before.
TEST_CASE("chunk_reader: after a failed read the same reader can be asked again",
          "[codec][chunk_reader][corrupt]") {
  ChunkSpec spec;
  spec.blocksize = 1000;
  spec.filters = {Filter::delta, Filter::shuffle};
  const Bytes data = ramp(4500, 4);
  const Bytes bytes = build_chunk(data, spec);
  const MemorySource memory(bytes);
  const auto chunk = Chunk::open(memory, 0, bytes.size(), {}, Limits{}).value();
  int steps = 1;
  for (;; ++steps) {
    INFO("read " << steps << " fails");
    const test::FailingSource source(memory, steps);
    ChunkReader reader(source, chunk);
    Bytes out(2700);
    const auto first = reader.read(1500, out);
    if (!source.has_failed()) break;
    REQUIRE_FALSE(first);
    CHECK(first.error().kind == Errc::system);
    CHECK(first.error().sys == EIO);
    REQUIRE(reader.read(1500, out));
    CHECK(std::ranges::equal(out, std::span(data).subspan(1500, 2700)));
  }
  CHECK(steps == 6);  // block 0 and four more
}

TEST_CASE("chunk_reader: a damaged block spoils its own bytes alone",
          "[codec][chunk_reader][corrupt]") {
  ChunkSpec spec;
  spec.blocksize = 1000;
  const Bytes data = noise(5000, 1);
  Bytes bytes = build_chunk(data, spec);
  put_le(bytes, load_le<std::uint32_t>(bytes.data() + 32 + 8), -1000);  // start of block 2
  const MemorySource source(bytes);
  const auto chunk = Chunk::open(source, 0, bytes.size(), {}, Limits{}).value();
  ChunkReader reader(source, chunk);
  for (std::uint64_t block = 0; block < 5; ++block) {
    Bytes out(1000);
    REQUIRE(reader.read(1000 * block, out).has_value() == (block != 2));
    if (block != 2) CHECK(std::ranges::equal(out, std::span(data).subspan(1000 * block, 1000)));
  }
}

// Oracle: see chunk_misbehaviour().  Damaged data need not be detected, because chunks have no
// checksum.
TEST_CASE("chunk_reader: no flipped bit and no cut makes a chunk misbehave",
          "[codec][chunk_reader][corrupt]") {
  const Bytes data = ramp(640, 4);
  std::vector<Bytes> chunks;
  for (const auto codec : kCodecs) {
    ChunkSpec spec;
    spec.codec = codec;
    spec.blocksize = 256;
    spec.split = codec != Codec::zstd;
    spec.filters = {Filter::delta, Filter::shuffle};
    chunks.push_back(build_chunk(data, spec));
    spec.filters = {Filter::shuffle};
    spec.blosc1_header = true;
    chunks.push_back(build_chunk(data, spec));
    spec.blosc1_header = false;
    if (codec == Codec::memcpy) continue;
    spec.split = false;
    spec.dictionary = test::ramp_dictionary(64, 4);
    chunks.push_back(build_chunk(data, spec));
    spec.vl_block_bytes = {100, 40, 500};
    chunks.push_back(build_chunk(data, spec));
  }
  chunks.push_back(build_special_chunk(test::SpecialKind::zero, 640, 4));
  chunks.push_back(build_special_chunk(test::SpecialKind::nan, 640, 8));
  chunks.push_back(build_special_chunk(test::SpecialKind::value, 640, 5, noise(5, 1)));
  chunks.push_back(build_special_chunk(test::SpecialKind::uninit, 640, 4));
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    INFO("chunk " << i);
    REQUIRE(test::chunk_misbehaviour(chunks[i]) == "");
    const auto probe = [](std::span<const std::byte> bytes) {
      return test::chunk_misbehaviour(bytes);
    };
    CHECK(test::first_bad_flip(chunks[i], 0, chunks[i].size(), probe) == "");
    for (std::size_t n = 0; n < chunks[i].size(); ++n) {
      const auto prefix = std::span(chunks[i]).first(n);
      REQUIRE_FALSE(Chunk::open(MemorySource(prefix), 0, n, {}, Limits{}).has_value());
    }
  }
}

}  // namespace
}  // namespace framefs::codec::chunk_reader_test
