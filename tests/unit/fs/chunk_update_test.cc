#include "codec/chunk/chunk_update.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "codec/chunk/chunk_encoder.h"
#include "fs/write/commit/write_params.h"
#include "fs/write/frame_write_session.h"
#include "fs/write/overlay/extents.h"
#include "tests/support/catch.h"
#include "tests/unit/fs/written_file.h"

namespace framefs::fs::chunk_update_test {
namespace {

constexpr std::uint32_t kBlock = 4096;
constexpr std::uint32_t kBlocks = 16;
constexpr std::uint32_t kChunk = kBlock * kBlocks;

// Numbers that grow slowly, so that every block compresses and no two blocks are alike.
test::Bytes slow_numbers(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  test::Bytes bytes;
  std::uint32_t number = seed;
  while (bytes.size() < size) {
    number += static_cast<std::uint32_t>(random() % 7);
    for (unsigned shift = 0; shift < 32; shift += 8) bytes.push_back(std::byte(number >> shift));
  }
  bytes.resize(size);
  return bytes;
}

test::Bytes noise(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  test::Bytes bytes(size);
  for (auto& byte : bytes) byte = std::byte(random());
  return bytes;
}

test::Bytes file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// A sparse frame of one chunk, so that the chunk is a file of its own.
struct OneChunk : test::ComparedFile {
  OneChunk(codec::CodecId codec, const test::Bytes& content)
      : ComparedFile(test::frame_params(codec, 4, kChunk, kBlock), true) {
    write(0, content);
    REQUIRE(session->commit(true));
  }

  // The chunk that the committed index names.
  [[nodiscard]] std::filesystem::path chunk_file() const {
    const FileReader index(
        UniqueFd(::open((path / "chunks.b2frame").c_str(), O_RDONLY | O_CLOEXEC)));
    const auto frame = codec::Frame::open_sparse(index, {});
    REQUIRE(frame);
    std::vector<std::int64_t> entries(frame->chunk_count());
    REQUIRE(frame->read_entries(index, {0}, entries));
    REQUIRE(entries.size() == 1);
    return path / ChunkFiles::name_of(static_cast<std::uint32_t>(entries[0]));
  }

  // The chunk as encoding all of it gives.
  [[nodiscard]] test::Bytes encoded_whole() const {
    const FileReader index(
        UniqueFd(::open((path / "chunks.b2frame").c_str(), O_RDONLY | O_CLOEXEC)));
    const auto frame = codec::Frame::open_sparse(index, {});
    REQUIRE(frame);
    codec::ChunkEncoder encoder;
    test::Bytes out(codec::ChunkPlan::max_bytes(plain.size()));
    const auto size = encoder.encode(write_params(*frame), plain, out);
    REQUIRE(size);
    out.resize(*size);
    return out;
  }
};

}  // namespace

TEST_CASE("chunk_update: a chunk of kept and new blocks is the one that encoding all of it gives",
          "[fs][chunk_update][unit]") {
  const auto codec = GENERATE(codec::CodecId::lz4, codec::CodecId::zstd, codec::CodecId::zlib);
  struct Row {
    std::size_t stored;
    std::uint64_t offset;
    std::size_t written;
  };
  for (const auto& row : {Row{kChunk, 5 * kBlock + 100, 50},         // inside one block
                          Row{kChunk, 0, 1},                         // the first
                          Row{kChunk, kChunk - 1, 1},                // the last
                          Row{kChunk, 3 * kBlock - 2, 4},            // two blocks
                          Row{kChunk, 2 * kBlock, 5 * kBlock},       // whole blocks
                          Row{9 * kBlock, 9 * kBlock, 100},          // appended at a block's end
                          Row{9 * kBlock + 40, 9 * kBlock + 40, 7},  // and in the middle of one
                          Row{5 * kBlock + 40, 11 * kBlock, 30}}) {  // behind a gap
    CAPTURE(static_cast<int>(codec), row.stored, row.offset, row.written);
    OneChunk file(codec, slow_numbers(row.stored, 1));
    file.write(row.offset, slow_numbers(row.written, 99));
    REQUIRE(file.session->commit(true));
    CHECK(test::read_stored(file.path) == file.plain);
    CHECK(file_bytes(file.chunk_file()) == file.encoded_whole());
  }
}

TEST_CASE("chunk_update: blocks that were not written are not decoded",
          "[fs][chunk_update][unit]") {
  OneChunk file(codec::CodecId::zstd, slow_numbers(kChunk, 1));
  // The size of the first stream of block 12 becomes larger than the chunk.
  auto bytes = file_bytes(file.chunk_file());
  const auto start_at = codec::kExtendedHeaderBytes + 12 * sizeof(std::uint32_t);
  const auto start = codec::load_le<std::uint32_t>(bytes.data() + start_at);
  {
    std::fstream chunk(file.chunk_file(), std::ios::binary | std::ios::in | std::ios::out);
    chunk.seekp(start);
    chunk.write("\xff\xff\xff\x7f", 4);
  }
  file.session = file.mount.open(file.path);
  file.write(2 * kBlock, noise(100, 2));
  REQUIRE(file.session->commit(true));

  // Damage stays where it was and spoils nothing else.
  const auto read = [&](std::uint64_t block) {
    return file.session->reading([&] {
      const FrameView view(file.session->chunks());
      return view.read(block * kBlock, kBlock, Access::random).has_value();
    });
  };
  for (std::uint64_t block = 0; block < kBlocks; ++block) {
    CAPTURE(block);
    CHECK(read(block) == (block != 12));
  }
  CHECK(test::read_session(*file.session, 0, 12 * kBlock) ==
        test::Bytes(file.plain.begin(), file.plain.begin() + 12 * kBlock));
  // Written as a whole, the block is good again.
  file.write(12 * kBlock, noise(kBlock, 3));
  REQUIRE(file.session->commit(true));
  CHECK(test::read_stored(file.path) == file.plain);
}

// The flag says that filters were not applied.  No writer of this program sets it.
TEST_CASE("chunk_update: blocks whose header means something else are decoded, not kept",
          "[fs][chunk_update][unit]") {
  constexpr auto kFlagsAt = 31;
  constexpr auto kInstrumented = std::byte{0x80};
  OneChunk file(codec::CodecId::lz4, slow_numbers(kChunk, 1));
  auto flags = file_bytes(file.chunk_file())[kFlagsAt];
  {
    std::fstream chunk(file.chunk_file(), std::ios::binary | std::ios::in | std::ios::out);
    chunk.seekp(kFlagsAt);
    chunk.put(static_cast<char>(flags | kInstrumented));
  }
  file.session = file.mount.open(file.path);
  auto expected = test::read_session(*file.session, 0, kChunk);
  REQUIRE_FALSE(expected == file.plain);
  file.write(2 * kBlock, noise(100, 2));
  std::ranges::copy(noise(100, 2), expected.begin() + 2 * kBlock);
  REQUIRE(file.session->commit(true));
  const bool is_same = test::read_stored(file.path) == expected;
  CHECK(is_same);
}

TEST_CASE("chunk_update: a chunk that no longer compresses is stored uncompressed",
          "[fs][chunk_update][unit]") {
  auto content = noise(kChunk, 1);
  std::ranges::copy(slow_numbers(2 * kBlock, 1), content.begin());
  OneChunk file(codec::CodecId::lz4, content);
  file.write(0, noise(2 * kBlock, 2));
  REQUIRE(file.session->commit(true));
  CHECK(test::read_stored(file.path) == file.plain);
  CHECK(file_bytes(file.chunk_file()) == file.encoded_whole());
  CHECK(file_bytes(file.chunk_file()).size() == kChunk + codec::kExtendedHeaderBytes);
}

TEST_CASE("chunk_update: a chunk that becomes zeros is not stored", "[fs][chunk_update][unit]") {
  test::Bytes content(kChunk);
  std::ranges::copy(slow_numbers(kBlock, 1), content.begin() + kBlock);
  OneChunk file(codec::CodecId::zstd, content);
  file.write(kBlock, test::Bytes(kBlock));
  REQUIRE(file.session->commit(true));
  CHECK(test::read_stored(file.path) == file.plain);
  CHECK(std::distance(std::filesystem::directory_iterator(file.path), {}) >= 1);
  const auto hole =
      file.session->reading([&] { return FrameView(file.session->chunks()).seek(Seek::hole, 0); });
  REQUIRE(hole);
  CHECK(*hole == 0);
}

TEST_CASE("extents: whether a range holds a written byte", "[fs][extents][unit]") {
  Extents extents;
  CHECK_FALSE(extents.touches(0, 100));
  extents.add(10, 20);
  extents.add(30, 31);
  struct Row {
    std::uint32_t begin;
    std::uint32_t end;
    bool touches;
  };
  for (const auto& row :
       {Row{0, 10, false}, Row{0, 11, true}, Row{19, 20, true}, Row{20, 30, false},
        Row{12, 13, true}, Row{30, 31, true}, Row{31, 99, false}, Row{0, 99, true}}) {
    CAPTURE(row.begin, row.end);
    CHECK(extents.touches(row.begin, row.end) == row.touches);
  }
}

}  // namespace framefs::fs::chunk_update_test
