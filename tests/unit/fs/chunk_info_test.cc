#include "fs/inspect/chunk_info.h"

#include <memory>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/frame_builder.h"
#include "tests/support/sample_data.h"

namespace framefs::fs::chunk_info_test {
namespace {

// A frame in memory.  Not movable, because its source refers to it.
struct Sample {
  explicit Sample(const test::FrameSpec& spec) : built(test::build_frame(spec)) {
    // Non-owning: the frame outlives the objects made from it.
    source = std::make_shared<const codec::MemorySource>(built.bytes);
  }
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;

  [[nodiscard]] std::vector<ChunkInfo> chunks() const {
    const auto origin = contiguous_origin(source, "sample");
    const auto frame = open_frame_at(origin, {});
    REQUIRE(frame);
    std::vector<ChunkInfo> chunks;
    visit_chunks(*frame, origin, {}, [&](const ChunkInfo& chunk) {
      chunks.push_back(chunk);
      return true;
    });
    return chunks;
  }

  test::BuiltFrame built;
  std::shared_ptr<const codec::ByteSource> source;
};

test::FrameSpec spec_of_all_kinds() {
  constexpr std::uint32_t kChunk = 4000;
  test::FrameSpec spec;
  spec.chunksize = kChunk;
  const auto data = test::ramp(kChunk, 4);
  test::ChunkSpec split;
  split.codec = test::Codec::lz4hc;
  split.blocksize = 1000;
  split.filters = {test::Filter::shuffle};
  split.split = true;
  spec.chunks.push_back(test::stored_chunk(data, split));
  for (const auto codec : {test::Codec::zstd, test::Codec::memcpy}) {
    test::ChunkSpec whole;
    whole.codec = codec;
    spec.chunks.push_back(test::stored_chunk(data, whole));
  }
  spec.chunks.push_back(test::index_only_chunk(test::SpecialKind::zero, kChunk));
  spec.chunks.push_back(test::index_only_chunk(test::SpecialKind::uninit, kChunk));
  const std::byte value[] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  spec.chunks.push_back({test::build_special_chunk(test::SpecialKind::value, kChunk, 4, value),
                         std::nullopt, kChunk});
  return spec;
}

TEST_CASE("chunk info: each kind of chunk is described as it was stored",
          "[fs][chunk_info][unit]") {
  const Sample sample(spec_of_all_kinds());
  const auto chunks = sample.chunks();
  REQUIRE(chunks.size() == 6);
  const char* const codecs[] = {"lz4", "zstd", "", "", "", ""};
  const char* const specials[] = {"", "", "", "zero", "uninit", "value"};
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    CAPTURE(i);
    const auto& chunk = chunks[i];
    CHECK(chunk.index == i);
    CHECK_FALSE(chunk.error);
    CHECK(chunk.file.empty());
    REQUIRE(chunk.header);
    CHECK(chunk.header->nbytes == 4000);
    CHECK(chunk_codec_name(*chunk.header) == codecs[i]);
    CHECK(special_name(chunk.header->special) == std::string(specials[i]));
    const bool is_stored = sample.built.chunk_at[i] != 0;
    CHECK(chunk.offset.has_value() == is_stored);
    if (is_stored) CHECK(*chunk.offset == sample.built.chunk_at[i]);
  }
  CHECK(chunks[0].is_split == true);
  CHECK(chunks[0].header->nblocks == 4);
  CHECK(chunks[0].header->filters[5].id == 1);
  CHECK(chunks[1].is_split == false);
  CHECK(chunks[2].header->memcpyed);
}

TEST_CASE("chunk info: a damaged chunk is visited with its error, the others without",
          "[fs][chunk_info][corrupt]") {
  Sample sample(spec_of_all_kinds());
  SECTION("its header can be read") {
    sample.built.bytes[sample.built.chunk_at[1] + 16 + 5] = std::byte{200};  // an unknown filter
    const auto chunks = sample.chunks();
    REQUIRE(chunks.size() == 6);
    REQUIRE(chunks[1].error);
    REQUIRE(chunks[1].header);
    CHECK(chunks[1].header->nbytes == 4000);
    CHECK_FALSE(chunks[1].is_split);
  }
  SECTION("its header cannot be read") {
    test::put_le<std::int32_t>(sample.built.bytes, sample.built.chunk_at[1] + 12, 5);  // cbytes
    const auto chunks = sample.chunks();
    REQUIRE(chunks.size() == 6);
    REQUIRE(chunks[1].error);
    CHECK(chunks[1].error->at == sample.built.chunk_at[1] + 12);
    CHECK_FALSE(chunks[1].header);
    CHECK(chunks[1].offset == sample.built.chunk_at[1]);
  }
  SECTION("its entry in the index is beyond the chunks") {
    test::put_le<std::int64_t>(sample.built.bytes, sample.built.index_at + 32 + 8, 1 << 30);
    const auto chunks = sample.chunks();
    REQUIRE(chunks.size() == 6);
    CHECK(chunks[1].error);
    CHECK_FALSE(chunks[1].offset);
  }
  const auto chunks = sample.chunks();
  for (const std::size_t i : {0U, 2U, 3U, 4U, 5U}) CHECK_FALSE(chunks[i].error);
}

TEST_CASE("chunk info: an index that cannot be decoded makes every chunk's row an error",
          "[fs][chunk_info][corrupt]") {
  auto spec = spec_of_all_kinds();
  spec.index = test::IndexForm::zstd;
  Sample sample(spec);
  for (auto at = sample.built.index_at + 44; at + 4 < sample.built.trailer_at; ++at) {
    sample.built.bytes[at] = std::byte{0xff};
  }
  const auto chunks = sample.chunks();
  REQUIRE(chunks.size() == 6);
  for (const auto& chunk : chunks) CHECK(chunk.error);
}

TEST_CASE("chunk info: the visit ends when the visitor has seen enough", "[fs][chunk_info][unit]") {
  const Sample sample(spec_of_all_kinds());
  const auto origin = contiguous_origin(sample.source, "sample");
  const auto frame = open_frame_at(origin, {});
  REQUIRE(frame);
  int visited = 0;
  visit_chunks(*frame, origin, {}, [&](const ChunkInfo&) { return ++visited < 3; });
  CHECK(visited == 3);
}

}  // namespace
}  // namespace framefs::fs::chunk_info_test
