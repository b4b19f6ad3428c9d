#include "codec/frame/frame_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/decode_oracle.h"
#include "tests/support/frame_builder.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"
#include "tests/support/source_doubles.h"

namespace framefs::codec::frame_reader_test {
namespace {

using test::build_frame;
using test::BuiltFrame;
using test::Bytes;
using test::ChunkSpec;
using test::Codec;
using test::FrameSpec;
using test::noise;
using test::outcome;
using test::put_le;
using test::ramp;
using test::SpecialKind;
using test::stored_chunk;

constexpr Limits kLimits{};

struct Sample {
  BuiltFrame built;
  Bytes data;
};

// Divides `data` into chunks of these sizes.
Sample variable_sample(const std::vector<std::uint32_t>& sizes, const ChunkSpec& chunk = {}) {
  Sample sample;
  FrameSpec spec;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Bytes piece = ramp(sizes[i], 4, static_cast<std::uint32_t>(i));
    spec.chunks.push_back(stored_chunk(piece, chunk));
    test::append(sample.data, piece);
  }
  sample.built = build_frame(spec);
  return sample;
}

Sample fixed_sample(std::uint32_t chunksize, std::size_t nbytes, const ChunkSpec& chunk = {}) {
  Sample sample;
  sample.data = ramp(nbytes, 4);
  FrameSpec spec;
  spec.chunksize = chunksize;
  spec.index = test::IndexForm::zstd;
  for (std::size_t at = 0; at < nbytes; at += chunksize) {
    const auto n = std::min<std::size_t>(chunksize, nbytes - at);
    spec.chunks.push_back(stored_chunk(std::span(sample.data).subspan(at, n), chunk));
  }
  sample.built = build_frame(spec);
  return sample;
}

// Reads everything at once, and then parts, with a reader that has read other parts before.
void check_reads(const Sample& sample) {
  const MemorySource source(sample.built.bytes);
  const auto frame = Frame::open(source, kLimits);
  INFO(outcome(frame));
  REQUIRE(frame);
  Bytes whole(frame->nbytes(), std::byte{0xee});
  FrameReader reader(source, *frame, kLimits);
  const auto read = reader.read(0, whole);
  INFO(outcome(read));
  REQUIRE(read);
  CHECK(whole == sample.data);
  std::mt19937 random(3);
  CHECK(test::subranges_agree(source, source, *frame, kLimits, sample.data, random, 50));
}

TEST_CASE("frame_reader: frames of every codec are read whole and in pieces",
          "[codec][frame_reader][unit]") {
  for (const auto codec :
       {Codec::memcpy, Codec::blosclz, Codec::lz4, Codec::lz4hc, Codec::zlib, Codec::zstd}) {
    INFO("codec " << static_cast<int>(codec));
    ChunkSpec chunk;
    chunk.codec = codec;
    chunk.blocksize = 400;
    if (codec != Codec::memcpy) chunk.filters = {test::Filter::delta, test::Filter::shuffle};
    check_reads(fixed_sample(1000, 5300, chunk));
    check_reads(fixed_sample(1000, 1000, chunk));
    check_reads(fixed_sample(1000, 1, chunk));
    check_reads(variable_sample({1000, 10, 2500, 1}, chunk));
  }
}

TEST_CASE("frame_reader: empty chunks anywhere are stepped over", "[codec][frame_reader][unit]") {
  check_reads(variable_sample({0, 0, 500, 0, 700, 0, 0}));
}

TEST_CASE("frame_reader: frames of variable-length blocks are read",
          "[codec][frame_reader][unit]") {
  ChunkSpec chunk;
  chunk.vl_block_bytes = {10, 300, 90};
  check_reads(fixed_sample(400, 2000, chunk));
  check_reads(variable_sample({400, 400}, chunk));
}

// The frame has more chunks than the reader holds index entries.
TEST_CASE("frame_reader: an index of many entries is read in windows",
          "[codec][frame_reader][unit]") {
  constexpr std::size_t kChunks = 20000;
  Sample sample;
  sample.data = noise(kChunks * 2, 1);
  FrameSpec spec;
  spec.chunksize = 2;
  ChunkSpec chunk;
  chunk.codec = Codec::memcpy;
  for (std::size_t i = 0; i < kChunks; ++i) {
    spec.chunks.push_back(stored_chunk(std::span(sample.data).subspan(2 * i, 2), chunk));
  }
  sample.built = build_frame(spec);
  const MemorySource source(sample.built.bytes);
  const auto frame = Frame::open(source, kLimits).value();
  FrameReader reader(source, frame, kLimits);
  for (const std::size_t index : {0U, 8191U, 8192U, 16383U, 16384U, 19999U, 1U, 8193U}) {
    INFO("chunk " << index);
    Bytes out(2);
    REQUIRE(reader.read(2 * index, out));
    CHECK(std::ranges::equal(out, std::span(sample.data).subspan(2 * index, 2)));
  }
  Bytes across(40);
  REQUIRE(reader.read(2 * 8192 - 21, across));
  CHECK(std::ranges::equal(across, std::span(sample.data).subspan(2 * 8192 - 21, 40)));
}

TEST_CASE("frame_reader: a range past the frame's end is refused",
          "[codec][frame_reader][corrupt]") {
  for (const auto& sample : {fixed_sample(100, 250), variable_sample({100, 100, 50})}) {
    const MemorySource source(sample.built.bytes);
    const auto frame = Frame::open(source, kLimits).value();
    FrameReader reader(source, frame, kLimits);
    Bytes out(10);
    CHECK(reader.read(240, out).has_value());
    CHECK(reader.read(250, {}).has_value());
    CHECK(outcome(reader.read(251, {})) == "truncated: frame at 251");
    for (const std::uint64_t offset :
         {std::uint64_t{241}, std::uint64_t{250}, ~std::uint64_t{0}, ~std::uint64_t{0} - 9}) {
      CHECK(outcome(reader.read(offset, out)) == "truncated: frame at " + std::to_string(offset));
    }
  }
}

// Oracle: the positions of the chunks.
TEST_CASE("frame_reader: a read touches the index and its own chunks alone",
          "[codec][frame_reader][unit]") {
  const auto sample = fixed_sample(1000, 9000);
  const BuiltFrame& built = sample.built;
  const MemorySource memory(built.bytes);
  const auto frame = Frame::open(memory, kLimits).value();
  test::RecordingSource source(memory);
  FrameReader reader(source, frame, kLimits);
  const ByteRange index{built.index_at, built.trailer_at - built.index_at};
  // Opening a chunk may read up to a kilobyte into the next one.
  const auto stored = [&](std::size_t chunk) { return ByteRange{built.chunk_at[chunk], 1024}; };
  Bytes out(600);
  REQUIRE(reader.read(4700, out));
  CHECK(source.stayed_within(std::vector{index, stored(4), stored(5)}));
  source.forget();
  REQUIRE(reader.read(5200, out));
  CHECK(source.stayed_within(std::vector{stored(5)}));  // the reader keeps index entries and tables
}

TEST_CASE("frame_reader: a damaged chunk header in the middle leaves the chunks before it readable",
          "[codec][frame_reader][corrupt]") {
  auto sample = variable_sample({1000, 500, 700});
  sample.built.bytes[sample.built.chunk_at[1] + 31] = std::byte{0x08};  // lazy: never stored
  const MemorySource source(sample.built.bytes);
  const auto frame = Frame::open(source, kLimits).value();
  FrameReader reader(source, frame, kLimits);
  Bytes out(1000);
  REQUIRE(reader.read(0, out));
  CHECK(std::ranges::equal(out, std::span(sample.data).first(1000)));
  const std::string expect =
      "bad field: lazy flag on a stored chunk at " + std::to_string(sample.built.chunk_at[1] + 31);
  CHECK(outcome(reader.read(1000, std::span(out).first(1))) == expect);
  CHECK(outcome(reader.read(500, out)) == expect);
  CHECK(outcome(reader.read(2000, std::span(out).first(1))) == expect);
  REQUIRE(reader.read(0, out));
}

TEST_CASE("frame_reader: a damaged chunk spoils its own bytes alone where all have one size",
          "[codec][frame_reader][corrupt]") {
  auto sample = fixed_sample(1000, 3500);
  sample.built.bytes[sample.built.chunk_at[1] + 31] = std::byte{0x08};
  const MemorySource source(sample.built.bytes);
  const auto frame = Frame::open(source, kLimits).value();
  FrameReader reader(source, frame, kLimits);
  for (std::size_t chunk = 0; chunk < 4; ++chunk) {
    Bytes out(chunk < 3 ? 1000 : 500);
    REQUIRE(reader.read(1000 * chunk, out).has_value() == (chunk != 1));
    if (chunk != 1) {
      CHECK(std::ranges::equal(out, std::span(sample.data).subspan(1000 * chunk, out.size())));
    }
  }
}

TEST_CASE("frame_reader: chunks may lie in any order and entries may share one",
          "[codec][frame_reader][unit]") {
  FrameSpec spec;
  spec.chunksize = 500;
  for (unsigned i = 0; i < 4; ++i) spec.chunks.push_back(stored_chunk(ramp(500, 4, i), {}));
  BuiltFrame built = build_frame(spec);
  const std::vector<std::size_t> order = {3, 1, 1, 0};
  Bytes expect;
  for (std::size_t i = 0; i < 4; ++i) {
    put_le(built.bytes, built.index_at + 32 + 8 * i,
           static_cast<std::int64_t>(built.chunk_at[order[i]] - built.header_bytes));
    test::append(expect, ramp(500, 4, static_cast<std::uint32_t>(order[i])));
  }
  check_reads({.built = built, .data = expect});
}

// Oracle: the data, from the reader that failed before.
TEST_CASE("frame_reader: after a failed read the same reader can be asked again",
          "[codec][frame_reader][corrupt]") {
  ChunkSpec chunk;
  chunk.blocksize = 300;
  const auto sample = fixed_sample(1000, 3500, chunk);
  const MemorySource memory(sample.built.bytes);
  const auto frame = Frame::open(memory, kLimits).value();
  int steps = 1;
  for (;; ++steps) {
    INFO("read " << steps << " fails");
    const test::FailingSource source(memory, steps);
    FrameReader reader(source, frame, kLimits);
    Bytes out(2500);
    const auto first = reader.read(700, out);
    if (!source.has_failed()) break;
    REQUIRE_FALSE(first);
    CHECK(first.error().kind == Errc::system);
    CHECK(first.error().sys == EIO);
    REQUIRE(reader.read(700, out));
    CHECK(std::ranges::equal(out, std::span(sample.data).subspan(700, 2500)));
  }
  CHECK(steps > 10);
}

TEST_CASE("frame_reader: limits hold for every chunk", "[codec][frame_reader][corrupt]") {
  const auto sample = fixed_sample(1000, 3500);
  const MemorySource source(sample.built.bytes);
  const auto frame = Frame::open(source, kLimits).value();
  Limits limits;
  limits.block_bytes = 999;
  FrameReader reader(source, frame, limits);
  Bytes out(10);
  CHECK(outcome(reader.read(0, out)) ==
        "over limit: blocksize at " + std::to_string(sample.built.chunk_at[0] + 8));
  CHECK(reader.read(3000, out).has_value());  // the last chunk is small enough
}

}  // namespace
}  // namespace framefs::codec::frame_reader_test
