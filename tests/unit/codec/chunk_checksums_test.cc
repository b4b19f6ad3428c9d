#include "codec/frame/chunk_checksums.h"

#include <algorithm>
#include <string>
#include <vector>

#include "codec/chunk/chunk_encoder.h"
#include "codec/core/byte_reader.h"
#include "codec/core/byte_writer.h"
#include "codec/frame/frame_trailer.h"
#include "codec/frame/frame_writer.h"
#include "tests/support/catch.h"
#include "tests/support/outcome.h"
#include "tests/support/plain_kinds.h"
#include "tests/support/sink_doubles.h"

namespace framefs::codec::chunk_checksums_test {
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

// The frame with another trailer.
Bytes with_trailer(Bytes frame, std::span<const std::byte> trailer) {
  constexpr std::size_t kLengthFromEnd = 22;
  frame.resize(frame.size() - load_be<std::uint32_t>(frame.data() + frame.size() - kLengthFromEnd));
  frame.insert(frame.end(), trailer.begin(), trailer.end());
  store_be(frame.data() + 16, static_cast<std::uint64_t>(frame.size()));  // frame_len
  return frame;
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
  const auto trailer = encode_trailer_with_checksums({}, made_for, known);
  REQUIRE(trailer);
  CHECK(seal_of(*trailer) == TrailerSeal::valid);
  const auto read = checksums_in(with_trailer(frame_of(2), *trailer));
  REQUIRE_FALSE(read);
  CHECK(read.error().kind == Errc::checksum);
  CHECK(std::string(read.error().field) == "index");
}

// A frame of `chunks` chunks whose sealed trailer has `layer` as its checksums.
Bytes frame_with_layer(std::size_t chunks, std::span<const std::byte> layer) {
  auto content = encode_vlmetalayer(layer);
  REQUIRE(content);
  const std::vector<NamedContent> layers{{std::string(kChecksumLayer), std::move(*content)}};
  auto trailer = encode_trailer(layers);
  REQUIRE(trailer);
  seal_trailer(*trailer);
  return with_trailer(frame_of(chunks, false), *trailer);
}

TEST_CASE("chunk_checksums: any sealed layer of a stranger is read or refused",
          "[codec][checksums][unit][corrupt]") {
  // Sizes around those of the fields, with numbers of chunks that fit and do not fit.
  for (const std::size_t size : {0U, 1U, 5U, 8U, 21U, 32U, 33U, 45U, 60U}) {
    for (const std::uint32_t version : {1U, 2U}) {
      for (const std::uint32_t count : {0U, 1U, 2U, 0xffffffffU}) {
        Bytes layer(size, std::byte{0xff});
        if (size >= 9) store_le(layer.data() + 5, version);
        if (size >= 13) store_le(layer.data() + 9, count);
        const auto read = checksums_in(frame_with_layer(1, layer));
        INFO(size << " bytes, version " << version << ", " << count << " chunks");
        REQUIRE_FALSE(read);
        CHECK(read.error().kind != Errc::internal);
      }
    }
  }
}

TEST_CASE("chunk_checksums: a chunk of any stated size is refused", "[codec][checksums][unit]") {
  const auto bytes = frame_of(1);
  const MemorySource source(bytes);
  const auto frame = Frame::open(source, Limits{});
  REQUIRE(frame);
  for (const std::uint32_t cbytes : {1U, 1031U, 0x7fffffffU, 0xffffffffU}) {
    CHECK_FALSE(verify_chunk(source, frame->header(), 0, {.cbytes = cbytes, .hash = 1}));
  }
  CHECK(verify_chunk(source, frame->header(), -1, {.cbytes = 100, .hash = 1}));
  CHECK(verify_chunk(source, frame->header(), 0, {}));
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
}  // namespace framefs::codec::chunk_checksums_test
