#include "codec/frame/chunk_group.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "codec/frame/frame_reader.h"
#include "tests/support/catch.h"
#include "tests/support/frame_builder.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"
#include "tests/support/source_doubles.h"

namespace framefs::codec::chunk_group_test {
namespace {

using test::Bytes;
using test::outcome;

constexpr Limits kLimits{};
constexpr std::uint32_t kChunk = 512;

// Chunks of 512 bytes of each kind: one block, several blocks that need the first, uncompressed,
// zeros by the index, a repeated value.  The last chunk is shorter.
test::FrameSpec mixed_spec(std::uint32_t chunks) {
  test::FrameSpec spec;
  spec.chunksize = kChunk;
  test::ChunkSpec several;
  several.blocksize = 128;
  several.filters = {test::Filter::delta};
  test::ChunkSpec uncompressed;
  uncompressed.codec = test::Codec::memcpy;
  for (std::uint32_t i = 0; i < chunks; ++i) {
    const std::uint32_t size = i + 1 == chunks ? 100 : kChunk;
    const auto data = test::ramp(size, 4, i);
    switch (i % 5) {
      case 0:
        spec.chunks.push_back(test::stored_chunk(data, {}));
        break;
      case 1:
        spec.chunks.push_back(test::stored_chunk(data, several));
        break;
      case 2:
        spec.chunks.push_back(test::stored_chunk(data, uncompressed));
        break;
      case 3:
        spec.chunks.push_back(test::index_only_chunk(test::SpecialKind::zero, size));
        break;
      default:
        spec.chunks.push_back({.stored = test::build_special_chunk(test::SpecialKind::value, size,
                                                                   4, test::noise(4, i)),
                               .special = std::nullopt,
                               .nbytes = size});
    }
  }
  return spec;
}

// The index of these frames is memcpyed: its entries follow its header.
std::size_t entry_at(const test::BuiltFrame& built, std::size_t chunk) {
  return built.index_at + kExtendedHeaderBytes + 8 * chunk;
}
void swap_entries(test::BuiltFrame& built, std::size_t a, std::size_t b) {
  const auto at_a = built.bytes.begin() + static_cast<std::ptrdiff_t>(entry_at(built, a));
  const auto at_b = built.bytes.begin() + static_cast<std::ptrdiff_t>(entry_at(built, b));
  std::swap_ranges(at_a, at_a + 8, at_b);
}

std::vector<std::int64_t> entries_of(const Frame& frame, const ByteSource& source,
                                     std::uint64_t first, std::uint64_t count) {
  std::vector<std::int64_t> entries(std::min(count, frame.chunk_count() - first));
  REQUIRE(frame.read_entries(source, {first}, entries));
  return entries;
}

struct Decoded {
  Status status;
  Bytes bytes;
  std::size_t reads = 0;
};

// Decodes one group as a caller does: one read of the common range, then the group.
Decoded decode_group(const ByteSource& source, const ChunkGroup& group) {
  const test::RecordingSource recording(source);
  Decoded decoded;
  Bytes stored(group.stored().size);
  REQUIRE(recording.read_at(group.stored().offset, stored));
  decoded.bytes.assign(group.nbytes(), std::byte{0xee});
  BlockDecoder decoder;
  Scratch spare;
  decoded.status = group.decode(recording, stored, decoder, spare, decoded.bytes);
  decoded.reads = recording.reads().size();
  return decoded;
}

// Oracle: the serial reader.  Returns the reads of the source.
std::size_t check_groups(const Bytes& bytes) {
  const MemorySource source(bytes);
  const auto frame = Frame::open(source, kLimits);
  REQUIRE(frame);
  Bytes whole(frame->nbytes());
  REQUIRE(FrameReader(source, *frame, kLimits).read(0, whole));
  const auto per_group = ChunkGroup::chunks_per_group(*frame);
  REQUIRE(per_group > 1);
  Bytes joined;
  std::size_t reads = 0;
  for (std::uint64_t first = 0; first < frame->chunk_count(); first += per_group) {
    const ChunkGroup group(*frame, kLimits, {first}, entries_of(*frame, source, first, per_group));
    const auto decoded = decode_group(source, group);
    INFO(outcome(decoded.status));
    REQUIRE(decoded.status);
    test::append(joined, decoded.bytes);
    reads += decoded.reads;
  }
  REQUIRE(joined.size() == whole.size());
  CHECK(std::ranges::equal(joined, whole));
  return reads;
}

TEST_CASE("chunk_group: chunks of all kinds are decoded from one read", "[codec][chunk_group]") {
  CHECK(check_groups(test::build_frame(mixed_spec(700)).bytes) == 3);
}

TEST_CASE("chunk_group: chunks that lie elsewhere are read by themselves", "[codec][chunk_group]") {
  auto built = test::build_frame(mixed_spec(3000));
  // A chunk of the first group, and the chunk in the middle of the second one, change places with
  // chunks of the last group.
  swap_entries(built, 10, 2900);
  CHECK(check_groups(built.bytes) < 12 + 10);
  swap_entries(built, 256 + 128, 2888 + 1);
  check_groups(built.bytes);
}

TEST_CASE("chunk_group: only small chunks of equal size form groups", "[codec][chunk_group]") {
  const auto groups_of = [](std::uint32_t chunksize, std::size_t chunks, bool varies) {
    test::FrameSpec spec;
    spec.chunksize = varies ? 0 : chunksize;
    for (std::size_t i = 0; i < chunks; ++i) {
      spec.chunks.push_back(test::stored_chunk(Bytes(chunksize), {}));
    }
    const auto built = test::build_frame(spec);
    const MemorySource source(built.bytes);
    const auto frame = Frame::open(source, kLimits);
    REQUIRE(frame);
    return ChunkGroup::chunks_per_group(*frame);
  };
  CHECK(groups_of(512, 2, false) == 256);
  CHECK(groups_of(4096, 2, false) == 32);
  CHECK(groups_of(4, 2, false) == ChunkGroup::kMaxChunks);
  CHECK(groups_of(512, 1, false) == 0);
  CHECK(groups_of(512, 2, true) == 0);
  CHECK(groups_of(1u << 20, 2, false) == 0);
  CHECK(groups_of(512, 0, false) == 0);
}

TEST_CASE("chunk_group: no entry makes the common range large", "[codec][chunk_group][corrupt]") {
  const auto built = test::build_frame(mixed_spec(3000));
  const MemorySource source(built.bytes);
  const auto frame = Frame::open(source, kLimits);
  REQUIRE(frame);
  const auto far = static_cast<std::int64_t>(frame->header().cbytes) - 1;
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  for (const auto& entries : std::vector<std::vector<std::int64_t>>{{0, far},
                                                                    {far, 0},
                                                                    {kMax, 0},
                                                                    {0, kMax},
                                                                    {kMax},
                                                                    {kMin},
                                                                    {-1, -1},
                                                                    {0, -1, far, kMin}}) {
    const ChunkGroup group(*frame, kLimits, {0}, entries);
    const auto [offset, size] = group.stored();
    CHECK(size <= 4096);
    if (size > 0) CHECK(offset + size <= frame->index_at());
    CHECK(group.nbytes() == entries.size() * kChunk);
  }
}

TEST_CASE("chunk_group: one damaged chunk fails the group with its error",
          "[codec][chunk_group][corrupt]") {
  auto built = test::build_frame(mixed_spec(20));
  test::put_le<std::int32_t>(built.bytes, built.chunk_at[10] + 4, -1);
  const MemorySource source(built.bytes);
  const auto frame = Frame::open(source, kLimits);
  REQUIRE(frame);
  const ChunkGroup group(*frame, kLimits, {0}, entries_of(*frame, source, 0, 20));
  CHECK(outcome(decode_group(source, group).status) ==
        "bad field: nbytes at " + std::to_string(built.chunk_at[10] + 4));
}

TEST_CASE("chunk_group: the index alone tells that a group is zero", "[codec][chunk_group]") {
  test::FrameSpec spec;
  spec.chunksize = kChunk;
  spec.chunks.assign(4, test::index_only_chunk(test::SpecialKind::zero, kChunk));
  spec.chunks.push_back(test::stored_chunk(Bytes(kChunk), {}));
  const auto built = test::build_frame(spec);
  const MemorySource source(built.bytes);
  const auto frame = Frame::open(source, kLimits);
  REQUIRE(frame);
  CHECK(ChunkGroup(*frame, kLimits, {0}, entries_of(*frame, source, 0, 4)).is_zero());
  CHECK_FALSE(ChunkGroup(*frame, kLimits, {1}, entries_of(*frame, source, 1, 4)).is_zero());
}

}  // namespace
}  // namespace framefs::codec::chunk_group_test
