#include "codec/frame/chunk_offsets.h"

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/frame_builder.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"
#include "tests/support/source_doubles.h"

namespace framefs::codec::chunk_offsets_test {
namespace {

using test::build_frame;
using test::BuiltFrame;
using test::Bytes;
using test::FrameSpec;
using test::noise;
using test::outcome;
using test::put_be;
using test::put_le;
using test::stored_chunk;

// A frame whose chunks have these decoded sizes.
FrameSpec variable_spec(const std::vector<std::uint32_t>& sizes) {
  FrameSpec spec;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    spec.chunks.push_back(stored_chunk(noise(sizes[i], static_cast<std::uint32_t>(i)), {}));
  }
  return spec;
}

Result<ChunkOffsets> make(const ByteSource& source, const Frame& frame, const Limits& limits = {}) {
  const auto entry_of = [&](ChunkIndex chunk) -> Result<std::int64_t> {
    std::int64_t entry = 0;
    FRAMEFS_CHECK(frame.read_entries(source, chunk, std::span(&entry, 1)));
    return entry;
  };
  return ChunkOffsets::make(frame, source, entry_of, limits);
}

// Oracle: the chunks laid end to end; every byte is looked up.
void check_places(const ChunkOffsets& offsets, const std::vector<std::uint32_t>& sizes) {
  std::uint64_t begin = 0;
  for (std::size_t chunk = 0; chunk < sizes.size(); ++chunk) {
    for (std::uint64_t at = begin; at < begin + sizes[chunk]; ++at) {
      const auto place = offsets.find(at);
      REQUIRE(place);
      REQUIRE(place->chunk.value == chunk);
      REQUIRE(place->range == ByteRange{begin, sizes[chunk]});
    }
    begin += sizes[chunk];
  }
}

TEST_CASE("chunk_offsets: chunks of one size are found by arithmetic, nothing is read",
          "[codec][chunk_offsets][unit]") {
  FrameSpec spec;
  spec.chunksize = 100;
  for (unsigned i = 0; i < 5; ++i)
    spec.chunks.push_back(stored_chunk(noise(i < 4 ? 100 : 1, i), {}));
  const BuiltFrame built = build_frame(spec);
  const MemorySource memory(built.bytes);
  const auto frame = Frame::open(memory, {}).value();
  const test::RecordingSource source(memory);
  const auto offsets = make(source, frame).value();
  check_places(offsets, {100, 100, 100, 100, 1});
  CHECK(source.reads().empty());
  CHECK(offsets.memory_bytes() == sizeof(ChunkOffsets));
}

TEST_CASE("chunk_offsets: chunks of varying size are found, empty ones never",
          "[codec][chunk_offsets][unit]") {
  // More than lie between two listed offsets, and runs of empty chunks across these.
  std::vector<std::uint32_t> many;
  for (std::uint32_t i = 0; i < 300; ++i) many.push_back(i % 100 > 50 ? 0 : 1 + i % 7);
  for (const auto& sizes : std::vector<std::vector<std::uint32_t>>{
           {1}, {3, 50, 7}, {0, 10}, {10, 0}, {0, 0, 5, 0, 0, 0, 6, 0, 0}, {5, 5, 5}, many}) {
    INFO(sizes.size() << " chunks");
    const BuiltFrame built = build_frame(variable_spec(sizes));
    const MemorySource source(built.bytes);
    const auto frame = Frame::open(source, {}).value();
    REQUIRE(frame.chunk_count() == sizes.size());
    const auto offsets = make(source, frame).value();
    check_places(offsets, sizes);
    CHECK(offsets.memory_bytes() >= sizeof(ChunkOffsets) + 4 * sizes.size());
    CHECK(offsets.memory_bytes() <= sizeof(ChunkOffsets) + 5 * sizes.size() + 64);
  }
}

TEST_CASE("chunk_offsets: only the headers of the chunks are read",
          "[codec][chunk_offsets][unit]") {
  const BuiltFrame built = build_frame(variable_spec({5000, 3000, 0, 4000}));
  const MemorySource memory(built.bytes);
  const auto frame = Frame::open(memory, {}).value();
  const test::RecordingSource source(memory);
  REQUIRE(ChunkOffsets::make(frame, source,
                             [&](ChunkIndex chunk) {
                               return static_cast<std::int64_t>(built.chunk_at.at(chunk.value) -
                                                                built.header_bytes);
                             },
                             {}));
  std::vector<ByteRange> headers;
  for (const std::size_t at : built.chunk_at) headers.push_back({at, 32});
  CHECK(source.reads() == headers);
}

TEST_CASE("chunk_offsets: a damaged chunk header affects no earlier chunk",
          "[codec][chunk_offsets][corrupt]") {
  const std::vector<std::uint32_t> sizes = {300, 200, 100, 400};
  for (std::size_t damaged = 0; damaged < sizes.size(); ++damaged) {
    INFO("chunk " << damaged << " is damaged");
    BuiltFrame built = build_frame(variable_spec(sizes));
    built.bytes[built.chunk_at[damaged] + 3] = std::byte{0};  // typesize
    const MemorySource source(built.bytes);
    const auto frame = Frame::open(source, {}).value();
    const auto offsets = make(source, frame);
    REQUIRE(offsets);
    check_places(*offsets, {sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(damaged)});
    std::uint64_t known = 0;
    for (std::size_t i = 0; i < damaged; ++i) known += sizes[i];
    const std::string expect =
        "bad field: typesize at " + std::to_string(built.chunk_at[damaged] + 3);
    for (const std::uint64_t at : {known, known + 1, std::uint64_t{999}}) {
      CHECK(outcome(offsets->find(at)) == expect);
    }
  }
}

TEST_CASE("chunk_offsets: after a special entry among varying chunks, no offset is known",
          "[codec][chunk_offsets][corrupt]") {
  BuiltFrame built = build_frame(variable_spec({300, 200, 100}));
  put_le(built.bytes, built.index_at + 32 + 8, test::special_index_entry(test::SpecialKind::zero));
  const MemorySource source(built.bytes);
  const auto frame = Frame::open(source, {}).value();
  const auto offsets = make(source, frame).value();
  check_places(offsets, {300});
  CHECK(outcome(offsets.find(300)) ==
        "bad field: special index entry in a frame of varying chunks at 8");
}

TEST_CASE("chunk_offsets: sizes that do not sum up to the frame's are refused",
          "[codec][chunk_offsets][corrupt]") {
  const BuiltFrame built = build_frame(variable_spec({300, 200, 100}));
  for (const std::int64_t nbytes :
       {std::int64_t{1}, std::int64_t{599}, std::int64_t{601}, std::int64_t{1} << 60}) {
    Bytes bytes = built.bytes;
    put_be(bytes, 30, nbytes);
    const MemorySource source(bytes);
    const auto frame = Frame::open(source, {}).value();
    CHECK(outcome(make(source, frame)) == "bad field: uncompressed_size at 30");
  }
}

TEST_CASE("chunk_offsets: a table above the limit is refused before a chunk is read",
          "[codec][chunk_offsets][corrupt]") {
  const BuiltFrame built = build_frame(variable_spec({1, 2, 3, 4, 5}));
  const MemorySource memory(built.bytes);
  const auto frame = Frame::open(memory, {}).value();
  const test::RecordingSource source(memory);
  Limits limits;
  limits.chunk_sizes_bytes = 19;
  CHECK(outcome(make(source, frame, limits)) == "over limit: number of chunks at 0");
  CHECK(source.reads().empty());
  limits.chunk_sizes_bytes = 20;
  CHECK(make(source, frame, limits).has_value());
}

TEST_CASE("chunk_offsets: an index that cannot be read is the caller's error",
          "[codec][chunk_offsets][corrupt]") {
  const BuiltFrame built = build_frame(variable_spec({10, 20, 30}));
  const MemorySource source(built.bytes);
  const auto frame = Frame::open(source, {}).value();
  const auto entry_of = [&](ChunkIndex chunk) -> Result<std::int64_t> {
    if (chunk.value == 1) return fail(Errc::checksum, "entry", 77);
    return static_cast<std::int64_t>(built.chunk_at[chunk.value] - built.header_bytes);
  };
  CHECK(outcome(ChunkOffsets::make(frame, source, entry_of, {})) ==
        "checksum mismatch: entry at 77");
}

// If a header cannot be read, find() reports the error of the source.
TEST_CASE("chunk_offsets: a chunk header that cannot be fetched is reported by the bytes behind it",
          "[codec][chunk_offsets][corrupt]") {
  const BuiltFrame built = build_frame(variable_spec({10, 20, 30}));
  const MemorySource memory(built.bytes);
  const auto frame = Frame::open(memory, {}).value();
  const test::FailingSource source(memory, 2);
  const auto offsets = ChunkOffsets::make(
      frame, source,
      [&](ChunkIndex chunk) {
        return static_cast<std::int64_t>(built.chunk_at.at(chunk.value) - built.header_bytes);
      },
      {});
  REQUIRE(offsets);
  CHECK(offsets->find(9).has_value());
  CHECK(offsets->find(10).error().kind == Errc::system);
  CHECK(offsets->find(10).error().sys == EIO);
}

}  // namespace
}  // namespace framefs::codec::chunk_offsets_test
