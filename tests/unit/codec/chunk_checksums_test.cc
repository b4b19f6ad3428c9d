#include "codec/frame/chunk_checksums.h"

#include <algorithm>
#include <string>
#include <vector>

#include "codec/chunk/chunk_encoder.h"
#include "codec/core/byte_reader.h"
#include "codec/frame/frame_trailer.h"
#include "codec/frame/frame_writer.h"
#include "tests/support/catch.h"
#include "tests/support/outcome.h"
#include "tests/support/plain_kinds.h"
#include "tests/support/sink_doubles.h"

namespace framefs::codec {
namespace {

using test::Bytes;
using test::MemorySink;
using test::outcome;
using State = FrameChecksums::State;

constexpr std::uint32_t kChunksize = 1000;

Bytes frame_of(std::size_t chunks, bool checksums = true) {
  FrameParams params{.encode = {.codec = CodecId::lz4}, .chunksize = kChunksize};
  params.vlmetalayers.push_back({"note", test::noise(50, 1)});
  params.checksums = checksums;
  MemorySink sink;
  auto writer = FrameWriter::create(sink, params);
  REQUIRE(writer);
  ChunkEncoder encoder;
  Bytes stored(ChunkPlan::max_bytes(kChunksize));
  for (std::size_t i = 0; i < chunks; ++i) {
    if (i % 3 == 1) {
      REQUIRE(writer->append_special(Special::zero, kChunksize));
      continue;
    }
    const auto size = encoder.encode(
        params.encode, test::noise(kChunksize, static_cast<std::uint32_t>(i)), stored);
    REQUIRE(size);
    REQUIRE(writer->append_chunk(std::span(stored).first(*size)));
  }
  REQUIRE(writer->finish());
  return sink.bytes();
}

Result<FrameChecksums> checksums_in(const Bytes& bytes) {
  const MemorySource source(bytes);
  const auto frame = Frame::open(source, Limits{});
  if (!frame) return std::unexpected(frame.error());
  return read_checksums(*frame, source, Limits{});
}

// The first chunk that does not have its checksum, or the number of chunks.
std::size_t first_wrong(const Bytes& bytes) {
  const MemorySource source(bytes);
  const auto frame = Frame::open(source, Limits{});
  REQUIRE(frame);
  const auto checksums = read_checksums(*frame, source, Limits{});
  REQUIRE(checksums);
  std::vector<std::int64_t> entries(frame->chunk_count());
  REQUIRE(frame->read_entries(source, {0}, entries));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i] < 0) continue;
    if (!verify_chunk(source, frame->header(), entries[i], checksums->of({i}))) return i;
  }
  return entries.size();
}

TEST_CASE("chunk_checksums: every damaged byte of a chunk is found", "[codec][checksums][unit]") {
  auto bytes = frame_of(4);
  REQUIRE(first_wrong(bytes) == 4);
  const MemorySource source(bytes);
  const auto frame = Frame::open(source, Limits{});
  REQUIRE(frame);
  const auto begin = frame->header().header_len;
  for (auto at = begin; at < begin + frame->header().cbytes; ++at) {
    INFO("byte " << at);
    bytes[at] ^= std::byte{0x10};
    CHECK(first_wrong(bytes) < 4);
    bytes[at] ^= std::byte{0x10};
  }
}

TEST_CASE("chunk_checksums: every damaged byte of index and trailer is noticed",
          "[codec][checksums][unit]") {
  auto bytes = frame_of(7);
  const MemorySource source(bytes);
  const auto frame = Frame::open(source, Limits{});
  REQUIRE(frame);
  // A damaged type of the fingerprint is no seal at all.
  const auto seal_type_at = bytes.size() - 17;
  for (std::size_t at = frame->index_at(); at < bytes.size(); ++at) {
    INFO("byte " << at);
    bytes[at] ^= std::byte{0x10};
    const auto read = checksums_in(bytes);
    const bool is_stale = read && read->state == State::stale;
    // Some bytes of the header of the index chunk have no meaning.
    const bool in_index_header = at < frame->index_at() + 32;
    const bool is_same = read && read->state == State::valid && first_wrong(bytes) == 7;
    CHECK((at == seal_type_at ? is_stale : !read || (in_index_header && is_same)));
    bytes[at] ^= std::byte{0x10};
  }
}

TEST_CASE("chunk_checksums: a trailer without a seal says that they do not count",
          "[codec][checksums][unit]") {
  auto bytes = frame_of(3);
  const auto valid = checksums_in(bytes);
  REQUIRE(valid);
  CHECK(valid->state == State::valid);
  REQUIRE(valid->chunks.size() == 3);
  CHECK(valid->of({0}).exists());
  CHECK_FALSE(valid->of({1}).exists());  // it is not stored
  remove_seal(bytes);
  const auto stale = checksums_in(bytes);
  REQUIRE(stale);
  CHECK(stale->state == State::stale);
  CHECK_FALSE(stale->of({0}).exists());
  const auto none = checksums_in(frame_of(3, false));
  REQUIRE(none);
  CHECK(none->state == State::none);
}

TEST_CASE("chunk_checksums: an index that is not the one they were made for",
          "[codec][checksums][unit]") {
  const std::vector<std::int64_t> made_for{0, 100};
  const std::vector<ChunkChecksum> known(2);
  const auto bytes = frame_of(2);
  const MemorySource source(bytes);
  const auto frame = Frame::open(source, Limits{});
  REQUIRE(frame);
  const auto trailer = encode_trailer_with_checksums({}, made_for, known);
  REQUIRE(trailer);
  CHECK(seal_of(*trailer) == TrailerSeal::valid);
  Bytes other(bytes.begin(), bytes.end());
  other.resize(frame->header().frame_len);
  // The trailer replaces that of the frame; only frame_len changes with it.
  const auto old_length = load_be<std::uint32_t>(other.data() + other.size() - 22);
  other.resize(other.size() - old_length);
  other.insert(other.end(), trailer->begin(), trailer->end());
  store_be(other.data() + 16, static_cast<std::uint64_t>(other.size()));
  const auto read = checksums_in(other);
  REQUIRE_FALSE(read);
  CHECK(read.error().kind == Errc::checksum);
  CHECK(std::string(read.error().field) == "index");
}

TEST_CASE("chunk_checksums: a frame without chunks has an empty list", "[codec][checksums][unit]") {
  FrameParams params{.encode = {.codec = CodecId::lz4}, .chunksize = kChunksize};
  params.checksums = true;
  const auto bytes = encode_empty_frame(params);
  REQUIRE(bytes);
  CHECK(bytes->size() <= 512);
  const auto read = checksums_in(*bytes);
  REQUIRE(read);
  CHECK(read->state == State::valid);
  CHECK(read->chunks.empty());
}

TEST_CASE("chunk_checksums: too many chunks are refused", "[codec][checksums][unit]") {
  FrameParams params{.encode = {.codec = CodecId::lz4}, .chunksize = 8};
  params.checksums = true;
  MemorySink sink;
  auto writer = FrameWriter::create(sink, params);
  REQUIRE(writer);
  for (std::uint64_t i = 0; i < kMaxChecksums; ++i) {
    if (!writer->append_special(Special::zero, 8)) FAIL("chunk " << i);
  }
  const auto refused = writer->append_special(Special::zero, 8);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == Errc::over_limit);
  REQUIRE(writer->finish());
  CHECK(checksums_in(sink.bytes()).has_value());
  const std::vector<std::int64_t> entries(kMaxChecksums + 1, -1);
  const std::vector<ChunkChecksum> known(entries.size());
  CHECK(outcome(encode_trailer_with_checksums({}, entries, known)) != "ok");
}

}  // namespace
}  // namespace framefs::codec
