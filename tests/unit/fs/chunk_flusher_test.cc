#include "fs/write/commit/chunk_flusher.h"

#include <fcntl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <vector>

#include "codec/chunk/chunk_header.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/frame_builder.h"
#include "tests/support/sample_data.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/write_mount.h"
#include "tests/unit/fs/written_file.h"

namespace framefs::fs::chunk_flusher_test {
using test::frame_params;
using test::noise;
using test::read_stored;
using test::write_at;
using test::WriteMount;

// The parameters of a new frame are chosen while a commit has frozen all of its chunks.
TEST_CASE("chunk_flusher: a commit of many chunks with few written bytes takes little memory",
          "[fs][chunk_flusher][unit]") {
  constexpr std::uint64_t kChunk = 1u << 20;
  constexpr std::uint64_t kCount = 40;
  const test::TempDirectory folder;
  const auto path = folder.path() / "x.b2frame";
  WriteMount mount;
  mount.create(path, frame_params(codec::CodecId::lz4, 1, kChunk), false);
  std::uint64_t used = 0;
  const auto session = mount.open(path, [&](std::span<const std::byte>) {
    used = mount.overlay().used();
    return Result<codec::EncodeParams>(codec::EncodeParams{.codec = codec::CodecId::lz4});
  });
  test::Bytes plain(kCount * kChunk);
  const auto write_into_each = [&](std::uint64_t offset, unsigned seed) {
    for (std::uint64_t i = 0; i < kCount; ++i) {
      const auto bytes = noise(100, seed + static_cast<unsigned>(i));
      const auto at = i * kChunk + offset;
      write_at(*session, at, bytes);
      std::ranges::copy(bytes, plain.begin() + static_cast<std::ptrdiff_t>(at));
    }
    plain.resize(session->nbytes());
  };
  write_into_each(700'000, 1);
  REQUIRE(session->commit(false));
  CHECK(used > 0);
  CHECK(used <= kCount * 8192);
  CHECK(mount.overlay().used() == 0);
  CHECK(read_stored(path) == plain);
  write_into_each(300'000, 1000);  // above stored chunks
  CHECK(mount.overlay().used() <= kCount * 8192);
  REQUIRE(session->commit(false));
  CHECK(read_stored(path) == plain);
}

namespace {

constexpr std::uint32_t kSmallChunk = 64u << 10;
constexpr std::uint32_t kSmallBlock = 4096;

// A frame of chunks of several blocks.
struct BlocksFile : test::ComparedFile {
  explicit BlocksFile(std::uint64_t count, std::uint32_t chunk = kSmallChunk,
                      std::uint32_t block = kSmallBlock)
      : ComparedFile(frame_params(codec::CodecId::lz4, 4, chunk, block), false) {
    write(0, test::ramp(count * chunk, 4));
    REQUIRE(session->commit(false));
  }
};

}  // namespace

TEST_CASE("chunk_flusher: many chunks that were written in part are stored together",
          "[fs][chunk_flusher][unit]") {
  constexpr std::uint64_t kCount = 70;
  BlocksFile file(kCount);
  const auto made = [&] { return file.session->chunks()->services().cache.counts().made_bytes; };
  for (int round = 0; round < 2; ++round) {
    const auto made_before = made();
    for (std::uint64_t i = 0; i < 5 * kCount; ++i) {
      const auto place = i * 7919 % (file.plain.size() / kSmallBlock);
      // Two places of one block.
      file.write(place * kSmallBlock + 10, noise(30, static_cast<unsigned>(2 * i)));
      file.write(place * kSmallBlock + 3000, noise(500, static_cast<unsigned>(2 * i + 1)));
    }
    // All blocks of one chunk, and all bytes of another.
    for (std::uint64_t at = 100; at < kSmallChunk; at += kSmallBlock) file.write(at, noise(1, 1));
    file.write(kSmallChunk, noise(kSmallChunk, 3));
    REQUIRE(file.session->commit(round == 0));
    CHECK(read_stored(file.path) == file.plain);
    CHECK(file.mount.overlay().used() == 0);
    // The tables of the chunks are in the cache, and no blocks, which nobody will read again.
    CHECK(made() - made_before < kCount * 1024);
  }
}

TEST_CASE("chunk_flusher: threads share out the blocks of a single large chunk",
          "[fs][chunk_flusher][unit]") {
  constexpr std::uint32_t kChunk = 1u << 20;
  constexpr std::uint32_t kBlock = 16u << 10;
  BlocksFile file(1, kChunk, kBlock);
  const auto commit = [&] {
    REQUIRE(file.session->commit(false));
    CHECK(read_stored(file.path) == file.plain);
  };
  // A few blocks; a part of each block; and more than the half, which is one buffer.
  for (const auto block : {3U, 4U, 40U, 63U}) file.write(block * kBlock + 700, noise(60, 1));
  commit();
  for (std::uint64_t at = 9; at < kChunk; at += kBlock) {
    file.write(at, noise(100, static_cast<unsigned>(at)));
  }
  commit();
  file.write(0, noise(600'000, 1));
  file.write(900'001, noise(5, 2));
  commit();
}

TEST_CASE("chunk_flusher: chunks whose blocks need their first block are written to",
          "[fs][chunk_flusher][unit]") {
  // One chunk, whose blocks several threads read, and several chunks.
  const std::uint32_t chunk = GENERATE(512u << 10, 16u << 10);
  constexpr std::uint64_t kBytes = 512u << 10;
  test::ChunkSpec delta;
  delta.blocksize = kSmallBlock;
  delta.filters = {test::Filter::delta, test::Filter::shuffle};
  test::FrameSpec frame;
  frame.chunksize = chunk;
  auto plain = test::ramp(kBytes, 4, 5);
  for (std::uint64_t at = 0; at < kBytes; at += chunk) {
    const auto begin = plain.begin() + static_cast<std::ptrdiff_t>(at);
    frame.chunks.push_back(test::stored_chunk(test::Bytes(begin, begin + chunk), delta));
  }
  const test::TempDirectory folder;
  const auto path = folder.write("x.b2frame", test::build_frame(frame).bytes);
  WriteMount mount;
  const auto session = mount.open(path);
  // The first block of the first chunk, other blocks, and the end.
  for (const std::uint64_t at :
       {std::uint64_t{10}, std::uint64_t{3 * kSmallBlock + 7}, kBytes / 2 + 100, kBytes - 20}) {
    const auto bytes = noise(20, static_cast<unsigned>(at));
    write_at(*session, at, bytes);
    std::ranges::copy(bytes, plain.begin() + static_cast<std::ptrdiff_t>(at));
  }
  REQUIRE(session->commit(true));
  CHECK(read_stored(path) == plain);
}

TEST_CASE("chunk_flusher: a damaged chunk loses its bytes and does not spoil the others",
          "[fs][chunk_flusher][corrupt]") {
  constexpr std::uint64_t kCount = 40;
  constexpr std::uint64_t kDamaged = 17;
  BlocksFile file(kCount);
  {
    const FileReader source(UniqueFd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC)));
    const auto frame = codec::Frame::open(source, {});
    REQUIRE(frame);
    std::vector<std::int64_t> entries(kCount);
    REQUIRE(frame->read_entries(source, {0}, entries));
    // The start of the first block lies outside the chunk.
    std::fstream bytes(file.path, std::ios::binary | std::ios::in | std::ios::out);
    bytes.seekp(static_cast<std::streamoff>(frame->header().header_len) + entries[kDamaged] +
                codec::kExtendedHeaderBytes);
    bytes.write("\xff\xff\xff\x7f", 4);
  }
  file.session = file.mount.open(file.path);
  for (std::uint64_t i = 0; i < kCount; ++i) file.write(i * kSmallChunk + 5, noise(20, 1));
  CHECK_FALSE(file.session->commit(true));
  // The bytes of the damaged chunk cannot be stored at all.
  REQUIRE(file.session->commit(false));
  CHECK(file.mount.overlay().used() == 0);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    if (i == kDamaged) continue;
    const auto begin = file.plain.begin() + static_cast<std::ptrdiff_t>(i * kSmallChunk);
    CAPTURE(i);
    CHECK(test::read_session(*file.session, i * kSmallChunk, kSmallChunk) ==
          test::Bytes(begin, begin + kSmallChunk));
  }
}

}  // namespace framefs::fs::chunk_flusher_test
