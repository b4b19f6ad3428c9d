#include "codec/frame/salvage.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "codec/chunk/chunk_encoder.h"
#include "codec/chunk/chunk_header.h"
#include "codec/core/byte_reader.h"
#include "codec/core/byte_writer.h"
#include "codec/frame/chunk_scan.h"
#include "codec/frame/frame.h"
#include "codec/frame/frame_index.h"
#include "codec/frame/frame_reader.h"
#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/outcome.h"
#include "tests/support/plain_kinds.h"
#include "tests/support/sink_doubles.h"

namespace framefs::codec::salvage_test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint32_t kChunkBytes = 4096;

Bytes plain_bytes(std::size_t size) {
  Bytes plain(size);
  std::uint32_t state = 1;
  for (auto& byte : plain) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>((state >> 24) & 0x0F);
  }
  return plain;
}

Bytes frame_of(const Bytes& plain, const EncodeParams& encode = {.codec = CodecId::lz4}) {
  const FrameParams params{.encode = encode, .chunksize = kChunkBytes};
  test::MemorySink sink;
  auto writer = FrameWriter::create(sink, params);
  REQUIRE(writer);
  ChunkEncoder encoder;
  Bytes chunk(ChunkPlan::max_bytes(kChunkBytes));
  for (std::size_t at = 0; at < plain.size(); at += kChunkBytes) {
    const auto piece =
        std::span(plain).subspan(at, std::min<std::size_t>(kChunkBytes, plain.size() - at));
    const auto size = encoder.encode(params.encode, piece, chunk);
    REQUIRE(size);
    REQUIRE(writer->append_chunk(std::span(chunk).first(*size)));
  }
  REQUIRE(writer->finish());
  return sink.bytes();
}

// Returns the content of a salvaged frame.
Bytes saved(const Bytes& damaged, const SalvagePlan& plan) {
  test::MemorySink sink;
  const MemorySource source(damaged);
  const auto length = write_salvaged(plan, source, sink, {});
  INFO(test::outcome(length));
  REQUIRE(length);
  const MemorySource written(sink.bytes());
  const auto frame = Frame::open(written, {});
  REQUIRE(frame);
  Bytes plain(frame->nbytes());
  REQUIRE(FrameReader(written, *frame, {}).read(0, plain));
  return plain;
}

Result<SalvagePlan> plan_of(const Bytes& damaged) {
  return plan_salvage(MemorySource(damaged), {}, {});
}

void check_comes_back_by_index(const Bytes& frame, const Bytes& plain) {
  const auto plan = plan_of(frame);
  REQUIRE(plan);
  CHECK(plan->order == SalvageOrder::index);
  CHECK(plan->lost().empty());
  CHECK(plan->left_out == 0);
  CHECK(saved(frame, *plan) == plain);
}

TEST_CASE("salvage: a whole frame comes back by its index", "[codec][salvage][unit]") {
  const auto plain = plain_bytes(5 * kChunkBytes + 100);
  check_comes_back_by_index(frame_of(plain), plain);
}

TEST_CASE("salvage: of every prefix, the chunks that are whole come back",
          "[codec][salvage][corrupt]") {
  const auto plain = plain_bytes(3 * kChunkBytes);
  const auto frame = frame_of(plain);
  std::size_t most = 0;
  for (std::size_t size = 0; size < frame.size(); size += 7) {
    INFO("prefix of " << size << " bytes");
    const Bytes prefix(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
    const auto plan = plan_of(prefix);
    if (!plan) {
      CHECK(most == 0);
      continue;
    }
    const auto got = saved(prefix, *plan);
    CHECK(got.size() >= most);
    auto expected = Bytes(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(got.size()));
    for (const auto& [offset, count] : plan->lost()) {
      std::ranges::fill(std::span(expected).subspan(offset, count), std::byte{0});
    }
    CHECK(got == expected);
    most = got.size();
  }
  CHECK(most == plain.size());
}

TEST_CASE("salvage: a flipped byte costs one chunk, or nothing", "[codec][salvage][corrupt]") {
  const auto plain = plain_bytes(3 * kChunkBytes);
  const auto frame = frame_of(plain);
  for (std::size_t at = 0; at < frame.size(); at += 11) {
    INFO("byte " << at);
    auto damaged = frame;
    damaged[at] ^= std::byte{0xFF};
    const auto plan = plan_of(damaged);
    REQUIRE(plan);
    // A flipped literal can decode to other bytes: chunks carry no checksum.
    CHECK(plan->nbytes() <= plain.size());
    CHECK(plan->nbytes() >= plain.size() - kChunkBytes);
    saved(damaged, *plan);
  }
}

// The header of a chunk whose blocks cannot be decoded here, so that only its fields prove it.
Bytes header_with_user_filter(std::uint32_t nbytes, std::uint32_t cbytes) {
  ChunkHeader header;
  header.version = 5;
  header.codec = CodecFormat::lz4;
  header.filters[0].id = 200;
  header.typesize = 1;
  header.nbytes = nbytes;
  header.blocksize = nbytes;
  header.cbytes = cbytes;
  Bytes head(kExtendedHeaderBytes);
  encode_chunk_header(header, std::span<std::byte, kExtendedHeaderBytes>(head));
  return head;
}

TEST_CASE("salvage: bytes that look like a chunk hide no chunk that decodes",
          "[codec][salvage][corrupt]") {
  const auto plain = plain_bytes(5 * kChunkBytes);
  auto damaged = frame_of(plain);
  const auto half = static_cast<std::uint32_t>(damaged.size() / 2);
  std::ranges::copy(header_with_user_filter(kChunkBytes, half), damaged.begin());
  check_comes_back_by_index(damaged, plain);
}

TEST_CASE("salvage: a chunk of an unknown filter is kept, and what looks like chunks in it is not",
          "[codec][salvage][unit]") {
  constexpr std::uint32_t kStored = 1000;
  auto chunk = header_with_user_filter(kChunkBytes, kStored);
  chunk.resize(kStored);
  std::ranges::copy(header_with_user_filter(kChunkBytes, kStored / 2), chunk.begin() + 100);
  const auto found = scan_for_chunks(MemorySource(chunk), 0, {}, {}, {});
  REQUIRE(found);
  REQUIRE(found->size() == 1);
  CHECK(found->front().stored == ByteRange{0, kStored});
}

TEST_CASE("salvage: where there is no chunk, there is an error", "[codec][salvage][unit]") {
  const Bytes noise = plain_bytes(10'000);
  const auto plan = plan_of(noise);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().kind == Errc::bad_field);
  CHECK_FALSE(plan_of({}));
}

TEST_CASE("salvage: a frame without chunks comes back without its trailer",
          "[codec][salvage][corrupt]") {
  const FrameParams params{.encode = {.codec = CodecId::lz4},
                           .chunksize = kChunkBytes,
                           .metalayers = {{"kept", plain_bytes(10)}},
                           .vlmetalayers = {{"note", plain_bytes(1000)}}};
  const auto whole = encode_empty_frame(params);
  REQUIRE(whole);
  const auto trailer_at = Frame::open(MemorySource(*whole), {})->header().header_len;
  // The last cut leaves all contents, and the first one none of them.
  for (const std::size_t size : {std::size_t{trailer_at}, whole->size() - 10}) {
    CAPTURE(size);
    auto damaged = *whole;
    damaged.resize(size);
    const auto plan = plan_of(damaged);
    INFO(test::outcome(plan));
    REQUIRE(plan);
    CHECK(plan->has_metalayers);
    CHECK(plan->params.metalayers.size() == 1);
    CHECK(plan->has_trailer == (size > trailer_at));
    CHECK(plan->is_whole() == plan->has_trailer);
    CHECK(saved(damaged, *plan).empty());
  }
}

TEST_CASE("salvage: each step of the work can be ended", "[codec][salvage][unit]") {
  const auto whole = frame_of(plain_bytes(3 * kChunkBytes));
  const MemorySource source(whole);
  std::uint64_t steps = 0;
  const auto count = [&](std::uint64_t) {
    ++steps;
    return true;
  };
  const auto plan = plan_salvage(source, {}, count);
  REQUIRE(plan);
  const auto planning = steps;
  CHECK(planning > 4);  // each chunk, and the index
  test::MemorySink sink;
  REQUIRE(write_salvaged(*plan, source, sink, count));
  CHECK(steps == planning + 3);
  for (std::uint64_t last = 0; last < steps; ++last) {
    std::uint64_t step = 0;
    const auto is_on = [&](std::uint64_t) { return step++ < last; };
    const auto begun = plan_salvage(source, {}, is_on);
    CHECK(begun.has_value() == (last >= planning));
    test::MemorySink unfinished;
    const auto written = begun ? write_salvaged(*begun, source, unfinished, is_on) : scan_ended();
    REQUIRE_FALSE(written);
    CHECK(written.error().sys == EINTR);
  }
}

// A chunk of one item of 8 bytes, repeated `nbytes` / 8 times.
Bytes repeated_item(std::int64_t item, std::uint32_t nbytes) {
  ChunkHeader header;
  header.version = 5;
  header.codec = CodecFormat::lz4;
  header.special = Special::value;
  header.typesize = 8;
  header.nbytes = nbytes;
  header.blocksize = std::min<std::uint32_t>(nbytes, 1u << 20);
  header.cbytes = kExtendedHeaderBytes + 8;
  Bytes chunk(kExtendedHeaderBytes);
  encode_chunk_header(header, std::span<std::byte, kExtendedHeaderBytes>(chunk));
  test::append_le(chunk, item);
  return chunk;
}

// 40 bytes stand for 64 MiB.  Whether these are an index depends on their place alone, and only one
// is the last.
TEST_CASE("salvage: many chunks that look like large indexes are not decoded",
          "[codec][salvage][corrupt]") {
  constexpr std::size_t kCount = 20'000;
  constexpr std::array kTrailer{std::byte{0x94}, std::byte{1}};
  const auto item = GENERATE(index_code(Special::zero), std::int64_t{5}, std::int64_t{-1});
  const bool is_before_trailer = GENERATE(false, true);
  Bytes file(200);
  for (std::size_t i = 0; i < kCount; ++i) {
    test::append(file, repeated_item(item, 64u << 20));
    if (is_before_trailer) test::append(file, kTrailer);
  }
  const auto plan = plan_of(file);
  CHECK(plan.has_value() == !is_before_trailer);  // an index without chunks leaves nothing to save
  if (plan) CHECK(plan->entries.size() == kCount);
}

TEST_CASE("salvage: a chunk that no frame of this kind has does not prevent the repair",
          "[codec][salvage][corrupt]") {
  const auto plain = plain_bytes(2 * kChunkBytes);
  auto damaged = frame_of(plain);
  damaged.resize(damaged.size() - 10);
  test::append(damaged, repeated_item(7, kChunkBytes));
  const auto plan = plan_of(damaged);
  REQUIRE(plan);
  CHECK(plan->left_out == 1);
  CHECK(saved(damaged, *plan) == plain);
}

TEST_CASE("salvage: an index whose entries are damaged is no data", "[codec][salvage][corrupt]") {
  const auto size = GENERATE(0U, 100U);
  const bool has_header = GENERATE(false, true);
  CAPTURE(size, has_header);
  const auto plain = plain_bytes(40 * kChunkBytes + size);
  const auto frame = frame_of(plain);
  const auto opened = Frame::open(MemorySource(frame), {});
  REQUIRE(opened);
  auto damaged = frame;
  // The index still decodes; most entries lead to no chunk.
  std::vector<std::int64_t> entries(opened->chunk_count());
  std::ranges::generate(entries, [at = std::int64_t{1}]() mutable { return at += 3; });
  const auto index = encode_index(entries);
  REQUIRE(index);
  const auto at = static_cast<std::ptrdiff_t>(opened->index_at());
  const auto old =
      static_cast<std::ptrdiff_t>(load_le<std::uint32_t>(&frame[opened->index_at()] + 12));
  damaged.erase(damaged.begin() + at, damaged.begin() + at + old);
  damaged.insert(damaged.begin() + at, index->begin(), index->end());
  if (!has_header)
    std::ranges::fill(std::span(damaged).first(kFrameFixedHeaderBytes), std::byte{0});
  const auto plan = plan_of(damaged);
  REQUIRE(plan);
  CHECK(plan->order == SalvageOrder::file);
  CHECK(plan->left_out == 0);
  CHECK(plan->has_trailer);
  CHECK(saved(damaged, *plan) == plain);
}

constexpr std::uint32_t kBlockBytes = 1024;
constexpr EncodeParams kZstdBlocks{.codec = CodecId::zstd, .blocksize = kBlockBytes};

// Damages blocks of the chunk that begins at `chunk`, each of which is a stream of zstd.
void damage_blocks(Bytes& frame, std::size_t chunk, std::initializer_list<std::size_t> blocks) {
  for (const auto block : blocks) {
    const auto at = load_le<std::uint32_t>(&frame[chunk + kExtendedHeaderBytes + 4 * block]);
    // The magic number follows the stored size of the stream.
    std::ranges::fill(std::span(frame).subspan(chunk + at + 4, 4), std::byte{0});
  }
}

TEST_CASE("salvage: the blocks of damaged chunks that can be decoded are saved",
          "[codec][salvage][corrupt]") {
  const auto chunks = GENERATE(1U, 2U, 5U);
  const bool is_in_each = GENERATE(false, true);
  CAPTURE(chunks, is_in_each);
  const auto plain = plain_bytes(chunks * kChunkBytes - 100);
  const auto frame = frame_of(plain, kZstdBlocks);
  const auto opened = Frame::open(MemorySource(frame), {});
  REQUIRE(opened);
  std::vector<std::int64_t> entries(opened->chunk_count());
  REQUIRE(opened->read_entries(MemorySource(frame), {0}, entries));
  auto damaged = frame;
  auto wanted = plain;
  std::vector<ByteRange> lost;
  for (std::size_t i = is_in_each ? 0 : chunks - 1; i < chunks; ++i) {
    damage_blocks(damaged, opened->header().header_len + static_cast<std::size_t>(entries[i]),
                  {1, 2});
    lost.push_back({i * kChunkBytes + kBlockBytes, 2 * kBlockBytes});
    std::ranges::fill(std::span(wanted).subspan(lost.back().offset, lost.back().size),
                      std::byte{0});
  }
  const auto plan = plan_of(damaged);
  INFO(test::outcome(plan));
  REQUIRE(plan);
  CHECK(plan->order == SalvageOrder::index);
  CHECK(plan->lost() == lost);
  CHECK(plan->left_out == 0);
  CHECK_FALSE(plan->is_whole());
  CHECK(saved(damaged, *plan) == wanted);
}

TEST_CASE("salvage: a chunk of which no block can be decoded is lost",
          "[codec][salvage][corrupt]") {
  const auto plain = plain_bytes(3 * kChunkBytes);
  auto damaged = frame_of(plain, kZstdBlocks);
  const auto begin = Frame::open(MemorySource(damaged), {})->header().header_len;
  damage_blocks(damaged, begin, {0, 1, 2, 3});
  const auto plan = plan_of(damaged);
  REQUIRE(plan);
  CHECK(plan->lost() == std::vector{ByteRange{0, kChunkBytes}});
}

TEST_CASE("salvage: a damaged stored size hides no other chunk", "[codec][salvage][corrupt]") {
  constexpr std::size_t kCbytesAt = 12;
  const auto plain = plain_bytes(3 * kChunkBytes);
  auto damaged = frame_of(plain, kZstdBlocks);
  const auto begin = Frame::open(MemorySource(damaged), {})->header().header_len;
  damage_blocks(damaged, begin, {2});
  const auto cbytes = load_le<std::uint32_t>(&damaged[begin + kCbytesAt]);
  store_le(&damaged[begin + kCbytesAt], 2 * cbytes);
  const auto plan = plan_of(damaged);
  REQUIRE(plan);
  CHECK(plan->order == SalvageOrder::index);
  const auto got = saved(damaged, *plan);
  CHECK(std::ranges::equal(std::span(got).subspan(kChunkBytes),
                           std::span(plain).subspan(kChunkBytes)));
}

TEST_CASE("salvage: chunks in order that are not all of the data", "[codec][salvage][corrupt]") {
  const auto plain = plain_bytes(5 * kChunkBytes);
  auto cut = frame_of(plain);
  cut.resize(cut.size() * 3 / 5);
  const auto plan = plan_of(cut);
  REQUIRE(plan);
  CHECK(plan->order == SalvageOrder::incomplete);
  CHECK(plan->header_nbytes == plain.size());
  CHECK_FALSE(plan->is_whole());
}

TEST_CASE("salvage: the order of the file is known to be that of the data only for one chunk",
          "[codec][salvage][unit]") {
  for (const std::size_t chunks : {1u, 2u}) {
    const auto plain = plain_bytes(chunks * kChunkBytes);
    auto damaged = frame_of(plain);
    damaged.resize(Frame::open(MemorySource(damaged), {})->index_at());
    const auto plan = plan_of(damaged);
    REQUIRE(plan);
    CHECK(plan->order == SalvageOrder::file);
    CHECK(saved(damaged, *plan) == plain);
    CHECK((plan->entries.size() == 1) == (chunks == 1));
    CHECK(plan->is_whole() == (chunks == 1));
  }
}

TEST_CASE("salvage: the index gives the places of chunks that are lost with the header",
          "[codec][salvage][corrupt]") {
  const auto plain = plain_bytes(6 * kChunkBytes);
  const auto frame = frame_of(plain);
  const MemorySource source(frame);
  const auto opened = Frame::open(source, {});
  REQUIRE(opened);
  const auto first = opened->header().header_len;
  for (const std::size_t lost : {1u, 2u, 3u}) {
    auto damaged = frame;
    std::vector<std::int64_t> entries(1);
    REQUIRE(opened->read_entries(source, {lost - 1}, entries));  // of the last one that is lost
    const auto end = first + static_cast<std::size_t>(entries[0]) + 40;
    std::ranges::fill(std::span(damaged).first(end), std::byte{0});
    const auto plan = plan_of(damaged);
    REQUIRE(plan);
    CHECK(plan->order == SalvageOrder::index);
    auto wanted = plain;
    std::ranges::fill(std::span(wanted).first(lost * kChunkBytes), std::byte{0});
    INFO(lost << " chunks are lost, and " << plan->entries.size() << " are known");
    REQUIRE(plan->lost().size() == 1);
    CHECK(saved(damaged, *plan) == wanted);
    CHECK(plan->lost()[0].offset == 0);
    CHECK(plan->lost()[0].size == lost * kChunkBytes);
  }
}

TEST_CASE("salvage: an index is not taken for the data of a frame whose only chunk is lost",
          "[codec][salvage][corrupt]") {
  const auto frame = frame_of(plain_bytes(kChunkBytes));
  for (const std::size_t lost : {std::size_t{0}, kFrameFixedHeaderBytes, std::size_t{200}}) {
    INFO(lost << " bytes are lost");
    auto damaged = frame;
    std::ranges::fill(std::span(damaged).first(lost), std::byte{0});
    // A bit of the chunk's header.
    damaged[Frame::open(MemorySource(frame), {})->header().header_len + 12] ^= std::byte{4};
    const auto plan = plan_of(damaged);
    if (plan) CHECK(plan->lost().size() == plan->entries.size());
  }
}

}  // namespace
}  // namespace framefs::codec::salvage_test
