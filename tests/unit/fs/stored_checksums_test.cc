#include "fs/write/overlay/stored_checksums.h"

#include <array>
#include <vector>

#include "codec/frame/frame_trailer.h"
#include "tests/support/catch.h"

namespace framefs::fs::stored_checksums_test {
namespace {

using codec::ChunkChecksum;

std::vector<std::byte> chunk_of(std::uint8_t cbytes, std::byte fill) {
  std::vector<std::byte> chunk(cbytes, fill);
  chunk[12] = std::byte{cbytes};
  for (int i = 13; i < 16; ++i) chunk[static_cast<std::size_t>(i)] = std::byte{0};
  return chunk;
}

TEST_CASE("stored_checksums: a frame without checksums gets none", "[fs][stored_checksums][unit]") {
  StoredChecksums checksums;
  checksums.note(0, chunk_of(40, std::byte{1}));
  CHECK_FALSE(checksums.of(0).exists());
  const std::array<std::int64_t, 1> entries{0};
  CHECK(checksums.of(entries).empty());
  const auto trailer = checksums.encode_trailer({}, entries, {});
  REQUIRE(trailer);
  CHECK(codec::seal_of(*trailer) == codec::TrailerSeal::none);
}

TEST_CASE("stored_checksums: each entry has the checksum of its chunk",
          "[fs][stored_checksums][unit]") {
  StoredChecksums checksums;
  const std::array<std::int64_t, 3> entries{0, -1, 100};
  const std::array<ChunkChecksum, 3> known{ChunkChecksum{40, 7}, {}, {50, 8}};
  checksums.keep(entries, known);
  CHECK(checksums.of(entries) == std::vector<ChunkChecksum>(known.begin(), known.end()));

  // Bytes behind a chunk do not count.
  auto longer = chunk_of(40, std::byte{2});
  checksums.note(200, longer);
  const auto made = checksums.of(200);
  CHECK(made.cbytes == 40);
  longer.resize(60);
  checksums.note(300, longer);
  CHECK(checksums.of(300) == made);

  // A chunk that is moved keeps its checksum, also over one that was made from what was read.
  checksums.copy(0, 300);
  CHECK(checksums.of(300) == known[0]);
  checksums.copy(999, 300);
  CHECK_FALSE(checksums.of(300).exists());
  checksums.forget(0);
  CHECK_FALSE(checksums.of(0).exists());

  const auto trailer = checksums.encode_trailer({}, entries, checksums.of(entries));
  REQUIRE(trailer);
  CHECK(codec::seal_of(*trailer) == codec::TrailerSeal::valid);
}

}  // namespace
}  // namespace framefs::fs::stored_checksums_test
