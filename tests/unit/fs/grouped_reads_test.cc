#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "codec/core/work_budget.h"
#include "fs/view/frame_view.h"
#include "tests/support/catch.h"
#include "tests/support/frame_builder.h"
#include "tests/support/random_seed.h"
#include "tests/support/sample_data.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/random_chunks.h"
#include "tests/unit/fs/view_mount.h"

// Reads of frames of very small chunks: see codec::ChunkGroup.
namespace framefs::fs::grouped_reads_test {
namespace {

using test::decode;
using test::read;

constexpr std::uint32_t kChunk = 512;
constexpr std::uint64_t kLarge = 64u << 10;  // reads of this size use groups

// Chunks of 512 bytes of all kinds.
test::BuiltFrame random_frame(std::mt19937& random, std::size_t chunks) {
  test::FrameSpec spec;
  spec.chunksize = kChunk;
  for (std::size_t i = 0; i < chunks; ++i) {
    spec.chunks.push_back(test::random_chunk(random, 4, kChunk, true));
  }
  return test::build_frame(spec);
}

test::BuiltFrame plain_frame(std::size_t chunks) {
  test::FrameSpec spec;
  spec.chunksize = kChunk;
  for (std::uint32_t i = 0; i < chunks; ++i) {
    spec.chunks.push_back(test::stored_chunk(test::ramp(kChunk, 4, i), {}));
  }
  return test::build_frame(spec);
}

// Oracle: the serial reader.
TEST_CASE("grouped_reads: any range equals the serial reader's", "[fs][grouped_reads][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto bytes = random_frame(random, 2000).bytes;
  const auto whole = decode(bytes);
  for (const std::uint64_t budget : {std::uint64_t{64} << 20, std::uint64_t{200} << 10}) {
    test::ViewMount mount(budget);
    const FrameView view(mount.open(bytes));
    for (int i = 0; i < 100; ++i) {
      const std::uint64_t offset = random() % whole.size();
      const std::uint64_t most = random() % 2 == 0 ? 5000 : whole.size();
      const std::uint64_t size = random() % std::min(most, whole.size() - offset) + 1;
      CAPTURE(offset, size);
      if (random() % 4 == 0) static_cast<void>(view.decode_ahead({offset, size}));
      const auto got = read(view, offset, size);
      REQUIRE(got);
      REQUIRE(std::ranges::equal(*got, std::span(whole).subspan(offset, size)));
    }
    CHECK(mount.lines().empty());
  }
}

// Oracle: the recorded reads.
TEST_CASE("grouped_reads: one read of the file brings many chunks", "[fs][grouped_reads][unit]") {
  const auto bytes = plain_frame(1024).bytes;
  const auto source = std::make_shared<const test::SharedSource>(bytes);
  test::ViewMount mount;
  const FrameView view(mount.open(source));
  REQUIRE(read(view, 0, 1));  // the index
  source->take_reads();
  REQUIRE(read(view, kLarge, 256u << 10));
  CHECK(source->take_reads().size() == 3);
  // A small read finds the chunks of a group that was not read to its end, or decodes only its own.
  REQUIRE(read(view, (300u << 10) + 1000, 100));
  CHECK(source->take_reads().empty());
  REQUIRE(read(view, (384u << 10) + 5000, 100));
  CHECK(source->take_reads().size() == 2);
}

// Oracle: the undamaged frame.
TEST_CASE("grouped_reads: a damaged chunk spoils its own range and is logged once",
          "[fs][grouped_reads][corrupt]") {
  auto built = plain_frame(1024);
  const auto whole = decode(built.bytes);
  constexpr std::uint64_t kBad = 700;
  test::put_le<std::int32_t>(built.bytes, built.chunk_at[kBad] + 4, -1);
  test::ViewMount mount;
  const FrameView view(mount.open(built.bytes));
  for (int again = 0; again < 2; ++again) {
    const auto failed = read(view, kBad * kChunk - kLarge, 2 * kLarge);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().kind == codec::Errc::bad_field);
    // The large reads beside the chunk need the same group.
    for (const std::uint64_t offset : {kBad * kChunk - kLarge, (kBad + 1) * kChunk}) {
      const auto got = read(view, offset, kLarge);
      REQUIRE(got);
      CHECK(std::ranges::equal(*got, std::span(whole).subspan(offset, kLarge)));
    }
  }
  REQUIRE(mount.lines().size() == 1);
  CHECK(mount.lines()[0].starts_with("error: the frame: chunk 700: "));
}

TEST_CASE("grouped_reads: a request that may do no more work ends, and says nothing of the frame",
          "[fs][grouped_reads][unit]") {
  const auto bytes = plain_frame(1024).bytes;
  const auto whole = decode(bytes);
  test::ViewMount mount;
  const FrameView view(mount.open(bytes));
  {
    codec::WorkBudget budget(100u << 10, [] { return true; });
    const codec::WorkScope scope(&budget);
    const auto got = read(view, 0, 512u << 10);
    REQUIRE_FALSE(got);
    CHECK(codec::is_work_error(got.error()));
  }
  const auto got = read(view, 0, 512u << 10);
  REQUIRE(got);
  CHECK(std::ranges::equal(*got, whole));
}

TEST_CASE("grouped_reads: zeros of the index take no memory", "[fs][grouped_reads][unit]") {
  constexpr std::uint64_t kWhole = 64u << 20;
  test::FrameSpec spec;
  spec.chunksize = kChunk;
  spec.chunks.assign(kWhole / kChunk, test::index_only_chunk(test::SpecialKind::zero, kChunk));
  spec.index = test::IndexForm::value;
  test::ViewMount mount;
  const FrameView view(mount.open(test::build_frame(spec).bytes));
  CHECK(view.decode_ahead({0, 1u << 20}));
  for (std::uint64_t offset = 0; offset < kWhole; offset += 1u << 20) {
    const auto result = view.read(offset, 1u << 20, Access::sequential);
    REQUIRE(result);
    CHECK(result->owners.empty());
    const auto bytes = test::joined(*result);
    REQUIRE(bytes.size() == 1u << 20);
    CHECK(std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; }));
  }
  CHECK(mount.cache().held_bytes() < 2u << 20);  // the index
}

// Oracle: the cache's count of held bytes.
TEST_CASE("grouped_reads: the cache keeps its budget, and groups that were served leave it",
          "[fs][grouped_reads][unit]") {
  const auto bytes = plain_frame(4096).bytes;
  test::ViewMount mount(256u << 10);
  const FrameView view(mount.open(bytes));
  for (std::uint64_t offset = 0; offset < 2u << 20; offset += 100000) {
    REQUIRE(read(view, offset, 100000));
    CHECK(mount.cache().held_bytes() <= mount.budget());
  }
  test::ViewMount roomy;
  const FrameView all(roomy.open(bytes));
  REQUIRE(read(all, 0, 2u << 20));
  CHECK(roomy.cache().held_bytes() < 256u << 10);
}

// Oracle: the serial reader.
TEST_CASE("grouped_reads: threads that read the same groups all get them",
          "[fs][grouped_reads][race]") {
  const auto bytes = plain_frame(2048).bytes;
  const auto whole = decode(bytes);
  test::ViewMount mount(512u << 10);
  const FrameView view(mount.open(bytes));
  std::vector<int> wrong(4);
  test::on_threads(wrong.size(), [&](std::size_t thread) {
    for (std::uint64_t i = 0; i < 40; ++i) {
      const auto offset = (i * 7 + thread) % 9 * 100000;
      if (i % 8 == 0) static_cast<void>(view.decode_ahead({offset, kLarge}));
      const auto got = read(view, offset, 2 * kLarge);
      if (!got || !std::ranges::equal(*got, std::span(whole).subspan(offset, got->size()))) {
        ++wrong[thread];
      }
    }
  });
  CHECK(wrong == std::vector<int>(4));
}

}  // namespace
}  // namespace framefs::fs::grouped_reads_test
