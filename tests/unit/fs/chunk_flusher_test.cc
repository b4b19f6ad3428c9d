#include "fs/write/chunk_flusher.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/support/catch.h"
#include "tests/support/sample_data.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/write_mount.h"
#include "tests/unit/fs/written_file.h"

namespace framefs::fs {
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

}  // namespace framefs::fs
