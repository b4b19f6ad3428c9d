#include "tests/support/sparse_frame_builder.h"

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/beta_frame_builder.h"
#include "tests/support/catch.h"
#include "tests/support/sample_data.h"
#include "tests/support/temp_directory.h"

namespace framefs::test::sparse_frame_builder_test {
namespace {

// The number at offset `at` of a frame's header.
std::uint64_t be(const Bytes& bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    value = value << 8 | std::to_integer<std::uint64_t>(bytes.at(at + i));
  }
  return value;
}

FrameSpec three_chunks() {
  FrameSpec spec;
  spec.chunksize = 100;
  spec.chunks = {stored_chunk(noise(100, 1), {}), index_only_chunk(SpecialKind::zero, 100),
                 stored_chunk(noise(50, 2), {})};
  return spec;
}

// Oracle: the offsets that the format defines.
TEST_CASE("sparse_frame_builder: the index file has header, index and trailer side by side",
          "[support][sparse_frame_builder][unit]") {
  const auto frame = build_sparse_frame(three_chunks(), std::vector<std::uint32_t>{0x2a, 1});
  CHECK(frame.index_file[26] == std::byte{1});
  CHECK(be(frame.index_file, 11, 4) == frame.index_at);
  CHECK(be(frame.index_file, 16, 8) == frame.index_file.size());
  CHECK(be(frame.index_file, 30, 8) == 250);
  REQUIRE(frame.chunks.size() == 2);
  CHECK(be(frame.index_file, 39, 8) == frame.chunks.at(0x2a).size() + frame.chunks.at(1).size());
  // A memcpyed index: little-endian entries after its header.
  CHECK(frame.index_file[frame.index_at + 32] == std::byte{0x2a});
  CHECK(frame.index_file[frame.index_at + 32 + 15] == std::byte{0x81});
  CHECK(frame.index_file[frame.index_at + 32 + 16] == std::byte{1});
  CHECK(frame.trailer_at == frame.index_at + 32 + 24);
}

TEST_CASE("sparse_frame_builder: its files are named after the chunks' ids",
          "[support][sparse_frame_builder][unit]") {
  CHECK(chunk_file_name(0) == "00000000.chunk");
  CHECK(chunk_file_name(0xfedcba98) == "FEDCBA98.chunk");
  const TempDirectory folder;
  write_sparse_frame(folder.path() / "frame",
                     build_sparse_frame(three_chunks(), std::vector<std::uint32_t>{0x2a, 1}));
  for (const auto* const name : {"chunks.b2frame", "0000002A.chunk", "00000001.chunk"}) {
    CHECK(std::filesystem::is_regular_file(folder.path() / "frame" / name));
  }
}

// Oracle: the documented layout of 13 items.
TEST_CASE("beta_frame_builder: the header is that of the betas",
          "[support][beta_frame_builder][unit]") {
  auto spec = three_chunks();
  spec.filters = {Filter::delta, Filter::shuffle};
  const auto frame = build_beta_frame(spec, {.usermeta = counting(5)});
  CHECK(frame.bytes[0] == std::byte{0x9d});
  CHECK(frame.bytes[25] == std::byte{0x21});
  CHECK(be(frame.bytes, 53, 4) == 100);
  CHECK(frame.bytes[57] == std::byte{0xd1});
  CHECK(frame.bytes[63] == std::byte{0xc3});
  CHECK(frame.bytes[65] == std::byte{2});
  CHECK(frame.bytes[66] == std::byte{3});
  CHECK(frame.bytes[67] == std::byte{1});
  CHECK(frame.bytes[82] == std::byte{0x93});
  CHECK(frame.header_bytes == 92);
  CHECK(frame.bytes[frame.trailer_at + 2] == std::byte{0xc6});
  CHECK(be(frame.bytes, frame.trailer_at + 3, 4) == 37);
  CHECK(frame.bytes.size() - frame.trailer_at == 30 + 37);
}

}  // namespace
}  // namespace framefs::test::sparse_frame_builder_test
