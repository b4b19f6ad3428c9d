#include "codec/frame/salvage.h"

#include <algorithm>
#include <vector>

#include "codec/chunk/chunk_encoder.h"
#include "codec/chunk/chunk_header.h"
#include "codec/frame/chunk_scan.h"
#include "codec/frame/frame.h"
#include "codec/frame/frame_reader.h"
#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/outcome.h"
#include "tests/support/plain_kinds.h"
#include "tests/support/sink_doubles.h"

namespace framefs::codec {
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

Bytes frame_of(const Bytes& plain) {
  const FrameParams params{.encode = {.codec = CodecId::lz4}, .chunksize = kChunkBytes};
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
  const auto length = write_salvaged(plan, source, sink);
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
    CHECK(std::ranges::equal(got, std::span(plain).first(got.size())));
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

TEST_CASE("salvage: a search can be ended", "[codec][salvage][unit]") {
  const Bytes zeros(3u << 20);
  const auto plan = plan_salvage(MemorySource(zeros), {}, [](std::uint64_t) { return false; });
  REQUIRE_FALSE(plan);
  CHECK(plan.error().kind == Errc::system);
}

}  // namespace
}  // namespace framefs::codec
