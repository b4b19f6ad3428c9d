#include "fs/view/cached_frame.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/memory_chunks.h"
#include "tests/support/outcome.h"
#include "tests/support/random_seed.h"
#include "tests/support/sample_data.h"
#include "tests/support/sparse_frame_builder.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/small_frames.h"
#include "tests/unit/fs/view_mount.h"

namespace framefs::fs::cached_frame_test {
namespace {

using test::outcome;
using test::SharedSource;
using test::ViewMount;

// Three chunks of 1000 bytes in blocks of 250 bytes.
test::FrameSpec block_frame() {
  test::FrameSpec spec;
  spec.chunksize = 1000;
  test::ChunkSpec chunk;
  chunk.blocksize = 250;
  for (std::uint32_t i = 0; i < 3; ++i) {
    spec.chunks.push_back(test::stored_chunk(test::ramp(1000, 4, i), chunk));
  }
  return spec;
}

FrameOrigin sparse_origin(const test::BuiltSparseFrame& built) {
  return {.type = codec::FrameType::sparse,
          .source = std::make_shared<const SharedSource>(built.index_file),
          .chunks = std::make_shared<const test::MemoryChunks>(built.chunks),
          .name = "the frame"};
}

TEST_CASE("cached_frame: a frame is opened as its announced type", "[fs][cached_frame][unit]") {
  ViewMount mount;
  const auto contiguous = mount.open(test::small_frame(2500));
  REQUIRE(contiguous->frame());
  CHECK(contiguous->frame()->nbytes() == 2500);
  CHECK(contiguous->origin().name == "the frame");
  CHECK(contiguous->origin().source == contiguous->origin().chunks);
  const auto sparse = mount.open(sparse_origin(test::small_sparse_frame(2500)));
  REQUIRE(sparse->frame());
  CHECK(sparse->frame()->header().type == codec::FrameType::sparse);
  CHECK(mount.lines().empty());
}

TEST_CASE("cached_frame: a frame that cannot be opened says why, and the log once",
          "[fs][cached_frame][corrupt]") {
  ViewMount mount;
  auto cut = test::small_frame(100);
  cut.pop_back();
  for (int again = 0; again < 2; ++again) {
    const auto frame = mount.open(cut);
    CHECK(outcome(frame->frame()) == "truncated: frame_len at 16");
  }
  REQUIRE(mount.lines().size() == 1);
  CHECK(mount.lines()[0].starts_with("error: the frame: truncated: frame_len"));
  // One type of frame is not accepted as the other.
  CHECK_FALSE(mount.open(test::sparse_index(100))->frame());
}

TEST_CASE("cached_frame: a chunk's tables are read once", "[fs][cached_frame][unit]") {
  const auto source = std::make_shared<const SharedSource>(build_frame(block_frame()).bytes);
  ViewMount mount;
  const auto frame = mount.open(source);
  const auto first = frame->chunk({1}, 1000);
  REQUIRE(first);
  CHECK((*first)->nbytes() == 1000);
  static_cast<void>(source->take_reads());
  const auto again = frame->chunk({1}, 1000);
  REQUIRE(again);
  CHECK(first->get() == again->get());
  CHECK(source->take_reads().empty());
}

TEST_CASE("cached_frame: a chunk must have the size that was reckoned with",
          "[fs][cached_frame][corrupt]") {
  auto spec = block_frame();
  spec.chunksize = 0;
  const auto built = build_frame(spec);
  ViewMount mount;
  const auto frame = mount.open(built.bytes);
  CHECK(outcome(frame->chunk({1}, 996)) ==
        "bad field: nbytes of the chunk at " + std::to_string(built.chunk_at[1] + 4));
  CHECK(frame->chunk({1}, 1000).has_value());  // failures are not cached
  CHECK(mount.lines().size() == 1);
}

// Oracle: the codec's own serial reader, for the same sizes.
TEST_CASE("cached_frame: where chunks lie is found out once", "[fs][cached_frame][unit]") {
  auto spec = block_frame();
  spec.chunksize = 0;
  const auto source = std::make_shared<const SharedSource>(build_frame(spec).bytes);
  ViewMount mount;
  const auto frame = mount.open(source);
  const auto begins = frame->chunk_offsets();
  REQUIRE(begins);
  CHECK((*begins)->find(1500)->chunk.value == 1);
  CHECK((*begins)->find(1500)->range == ByteRange{1000, 1000});
  static_cast<void>(source->take_reads());
  REQUIRE(frame->chunk_offsets());
  CHECK(source->take_reads().empty());
}

TEST_CASE("cached_frame: blocks come in the order of the requests", "[fs][cached_frame][unit]") {
  ViewMount mount;
  for (const bool sparse : {false, true}) {
    const auto frame = sparse ? mount.open(sparse_origin(test::build_sparse_frame(block_frame())))
                              : mount.open(build_frame(block_frame()).bytes);
    const auto one = frame->chunk({1}, 1000).value();
    const auto two = frame->chunk({2}, 1000).value();
    const std::vector<BlockRequest> requests = {
        frame->request(two, {2}, {3}), frame->request(one, {1}, {0}), frame->request(two, {2}, {0}),
        frame->request(one, {1}, {2})};
    const auto blocks = frame->fetch(requests);
    REQUIRE(blocks);
    REQUIRE(blocks->size() == requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto whole =
          test::ramp(1000, 4, static_cast<std::uint32_t>(requests[i].chunk_index.value));
      CHECK(std::ranges::equal((*blocks)[i]->view(),
                               std::span(whole).subspan(250 * requests[i].block.value, 250)));
    }
  }
}

TEST_CASE("cached_frame: a block that was released is decoded again", "[fs][cached_frame][unit]") {
  const auto source = std::make_shared<const SharedSource>(build_frame(block_frame()).bytes);
  ViewMount mount;
  const auto frame = mount.open(source);
  const std::vector<BlockRequest> request = {
      frame->request(frame->chunk({1}, 1000).value(), {1}, {2})};
  REQUIRE(frame->fetch(request));
  static_cast<void>(source->take_reads());
  {
    ServedBlocks served;
    frame->release_with(served, request[0]);
    REQUIRE(frame->fetch(request));
    CHECK(source->take_reads().empty());  // not known yet
  }
  REQUIRE(frame->fetch(request));
  CHECK(source->take_reads().size() == 1);
}

TEST_CASE("cached_frame: states of a file share no cached values", "[fs][cached_frame][unit]") {
  ViewMount mount;
  const auto one = mount.open(test::small_frame(1000, 1));
  const auto two = mount.open(test::small_frame(1000, 2));
  const auto chunk = one->chunk({0}, 1000);
  const auto other = two->chunk({0}, 1000);
  REQUIRE(chunk);
  REQUIRE(other);
  CHECK(chunk->get() != other->get());
}

TEST_CASE("cached_frame: failures of a block name chunk and place, of a sparse frame in its file",
          "[fs][cached_frame][corrupt]") {
  // Block 3 of chunk 2 starts before the chunk's block area.
  constexpr std::size_t kStartAt = 32 + 4 * 3;
  auto built = build_frame(block_frame());
  test::put_le<std::int32_t>(built.bytes, built.chunk_at[2] + kStartAt, 1);
  auto sparse = test::build_sparse_frame(block_frame());
  test::put_le<std::int32_t>(sparse.chunks[2], kStartAt, 1);
  for (const bool is_sparse : {false, true}) {
    ViewMount mount;
    const auto frame = is_sparse ? mount.open(sparse_origin(sparse)) : mount.open(built.bytes);
    const std::vector<BlockRequest> request = {
        frame->request(frame->chunk({2}, 1000).value(), {2}, {3})};
    const auto at = kStartAt + (is_sparse ? 0 : built.chunk_at[2]);
    CHECK(outcome(frame->fetch(request)) == "bad field: block start at " + std::to_string(at));
    CHECK(mount.lines() == std::vector<std::string>{
                               "error: the frame: chunk 2: bad field: block start (1) at byte " +
                               std::to_string(at)});
  }
}

TEST_CASE("cached_frame: bytes that are stored as they are are read where they stand",
          "[fs][cached_frame][unit]") {
  test::FrameSpec spec;
  spec.chunksize = 100;
  test::ChunkSpec plain;
  plain.codec = test::Codec::memcpy;
  for (std::uint32_t i = 0; i < 2; ++i) {
    spec.chunks.push_back(test::stored_chunk(test::noise(100, i), plain));
  }
  ViewMount mount;
  for (const bool sparse : {false, true}) {
    const auto frame = sparse ? mount.open(sparse_origin(test::build_sparse_frame(spec)))
                              : mount.open(build_frame(spec).bytes);
    const auto chunk = frame->chunk({1}, 100).value();
    REQUIRE(chunk->body() == codec::ChunkBody::plain);
    test::Bytes out(30);
    REQUIRE(frame->read_plain(*chunk, {1}, 70, out));
    const auto whole = test::noise(100, 1);
    CHECK(std::ranges::equal(out, std::span(whole).subspan(70)));
  }
}

// Oracle: a search over the kinds of the chunks.
std::uint64_t find_by_walk(const std::vector<bool>& holes, bool hole, std::uint64_t first,
                           std::uint64_t end) {
  while (first < end && holes[first] != hole) ++first;
  return first;
}

TEST_CASE("cached_frame: the next hole, and the next chunk that is none, are found",
          "[fs][cached_frame][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  // More than one window of the index, with long and short runs of one kind.
  constexpr std::size_t kChunks = 20'000;
  test::FrameSpec spec;
  spec.chunksize = 4;
  test::ChunkSpec plain;
  plain.codec = test::Codec::memcpy;
  const auto stored = test::stored_chunk(test::noise(4, 1), plain);
  std::vector<bool> holes;
  while (holes.size() < kChunks) {
    const auto kind = random() % 4;
    const std::size_t run = random() % 3 == 0 ? random() % 5000 : random() % 5;
    for (std::size_t i = 0; i < run && holes.size() < kChunks; ++i) {
      constexpr std::array kRules = {test::SpecialKind::zero, test::SpecialKind::uninit,
                                     test::SpecialKind::nan};
      holes.push_back(kind < 2);
      spec.chunks.push_back(kind < 3 ? test::index_only_chunk(kRules[kind], 4) : stored);
    }
  }
  spec.index = test::IndexForm::zstd;
  ViewMount mount;
  const auto frame = mount.open(build_frame(spec).bytes);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t first = random() % (kChunks + 1);
    const std::uint64_t end = first + random() % (kChunks + 1 - first);
    const bool hole = random() % 2 == 0;
    CAPTURE(hole, first, end);
    REQUIRE(frame->find_chunk(hole, first, end).value() == find_by_walk(holes, hole, first, end));
  }
  CHECK(frame->find_chunk(true, kChunks, kChunks).value() == kChunks);
}

TEST_CASE("cached_frame: a damaged index has no holes to tell of", "[fs][cached_frame][corrupt]") {
  test::FrameSpec spec = block_frame();
  spec.index = test::IndexForm::zstd;
  auto built = build_frame(spec);
  test::put_le<std::int32_t>(built.bytes, built.index_at + 32, 1);  // start of its block
  ViewMount mount;
  const auto frame = mount.open(built.bytes);
  REQUIRE(frame->frame());
  CHECK_FALSE(frame->find_chunk(true, 0, 3));
  CHECK_FALSE(frame->chunk({0}, 1000));
  CHECK(frame->find_chunk(true, 2, 2).value() == 2);  // an empty range
  CHECK_FALSE(mount.lines().empty());
}

TEST_CASE("cached_frame: many threads get the same chunk", "[fs][cached_frame][race]") {
  const auto source = std::make_shared<const SharedSource>(build_frame(block_frame()).bytes);
  ViewMount mount;
  const auto frame = mount.open(source);
  static_cast<void>(source->take_reads());
  std::vector<const codec::Chunk*> seen(8);
  std::vector<std::shared_ptr<const codec::Chunk>> kept(8);
  test::on_threads(seen.size(), [&](std::size_t thread) {
    if (auto chunk = frame->chunk({2}, 1000)) kept[thread] = *chunk;
  });
  for (const auto& chunk : kept) {
    REQUIRE(chunk);
    CHECK(chunk == kept[0]);
  }
}

}  // namespace
}  // namespace framefs::fs::cached_frame_test
