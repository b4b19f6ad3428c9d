#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "fs/write/frame_write_session.h"
#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/frame_builder.h"
#include "tests/support/random_seed.h"
#include "tests/support/sample_data.h"
#include "tests/support/sparse_frame_builder.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/write_mount.h"
#include "tests/unit/fs/written_file.h"

namespace framefs::fs::shared_chunks_test {
namespace {

using test::FrameSpec;

constexpr std::size_t kChunk = 4096;
constexpr std::size_t kChunks = 8;

FrameSpec spec_of(const test::Bytes& chunk) {
  FrameSpec spec;
  spec.chunksize = kChunk;
  spec.typesize = 1;
  test::ChunkSpec stored;
  stored.typesize = 1;
  spec.chunks.assign(kChunks, test::stored_chunk(chunk, stored));
  return spec;
}

// Writes a frame, all of whose index entries name the first chunk.
void write_shared_frame(const test::TempDirectory& folder, bool is_sparse,
                        const test::Bytes& chunk) {
  const auto spec = spec_of(chunk);
  if (is_sparse) {
    const std::vector<std::uint32_t> ids(kChunks, 0);
    test::write_sparse_frame(folder.path() / "x.b2frame", test::build_sparse_frame(spec, ids));
    return;
  }
  auto built = test::build_frame(spec);
  const auto entries_at = built.index_at + codec::kExtendedHeaderBytes;
  std::fill_n(built.bytes.begin() + static_cast<std::ptrdiff_t>(entries_at),
              kChunks * sizeof(std::int64_t), std::byte{0});
  folder.write("x.b2frame", built.bytes);
}

}  // namespace

TEST_CASE("shared_chunks: a change of one chunk harms no other that is stored at the same place",
          "[fs][write][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (const bool is_sparse : {false, true}) {
    CAPTURE(is_sparse);
    const test::TempDirectory folder;
    const auto path = folder.path() / "x.b2frame";
    const auto chunk = test::noise(kChunk, 1);
    write_shared_frame(folder, is_sparse, chunk);
    test::Bytes wanted;
    for (std::size_t i = 0; i < kChunks; ++i) test::append(wanted, chunk);
    REQUIRE(test::read_stored(path) == wanted);
    test::WriteMount mount;
    // The first chunk is not written: its bytes must survive in the file.
    for (int round = 0; round < 3; ++round) {
      const auto session = mount.open(path);
      for (std::uint32_t i = 0; i < 20; ++i) {
        const auto place = 1 + random() % (kChunks - 1);
        const auto bytes = test::noise(kChunk, 100 + i);
        test::write_at(*session, place * kChunk, bytes);
        std::ranges::copy(bytes, wanted.begin() + static_cast<std::ptrdiff_t>(place * kChunk));
        REQUIRE(session->commit(true));
        REQUIRE(test::read_session(*session, 0, wanted.size()) == wanted);
      }
      REQUIRE(session->compact(round == 2));
      session->release_old_states();
    }
    CHECK(test::read_stored(path) == wanted);
  }
}

}  // namespace framefs::fs::shared_chunks_test
