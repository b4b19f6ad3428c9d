#include "fs/view/first_touch.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/support/catch.h"

namespace framefs::fs::first_touch_test {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

// Whether the ranges, which are in order, contain all of `wanted`.
bool covers(const std::vector<ByteRange>& ranges, ByteRange wanted) {
  auto at = wanted.offset;
  for (const auto& range : ranges) {
    if (range.offset <= at) at = std::max(at, range.offset + range.size);
  }
  return at >= wanted.offset + wanted.size;
}

TEST_CASE("first_touch: a small chunk is expected whole", "[fs][first_touch][unit]") {
  const FirstTouch touch{.stored = {1000, 60'000}, .nbytes = kMiB, .within = {500'000, 4096}};
  CHECK(first_touch_ranges(touch, {}) == std::vector<ByteRange>{{1000, 60'000}});
}

TEST_CASE("first_touch: tables and a window around the blocks when all blocks are alike",
          "[fs][first_touch][unit]") {
  constexpr std::uint64_t kTables = 32 + 64 * 4;
  constexpr std::uint64_t kBlock = 64 << 10;
  constexpr std::uint64_t kStoredBlock = 20'000;
  constexpr std::uint64_t kBlocks = 64;
  const ByteRange stored{7, kTables + kBlocks * kStoredBlock};
  for (std::uint64_t block = 0; block < kBlocks; ++block) {
    INFO("block " << block);
    const FirstTouch touch{
        .stored = stored, .nbytes = kBlocks * kBlock, .within = {block * kBlock + 100, 4096}};
    const auto ranges = first_touch_ranges(touch, {kTables, kBlock});
    CHECK(covers(ranges, {stored.offset, kTables}));
    CHECK(covers(ranges, {stored.offset + kTables + block * kStoredBlock, kStoredBlock - 1024}));
    std::uint64_t bytes = 0;
    for (const auto& range : ranges) {
      CHECK(range.offset >= stored.offset);
      CHECK(range.offset + range.size <= stored.offset + stored.size);
      bytes += range.size;
    }
    CHECK(bytes <= 5 * (kStoredBlock + kTables) / 2);
    // The frame's header has the size of blocks before any chunk has been opened.
    CHECK(first_touch_ranges(touch, {.table_bytes = 0, .block_bytes = kBlock}) == ranges);
  }
}

TEST_CASE("first_touch: the window is as wide as the blocks of another chunk deviate",
          "[fs][first_touch][unit]") {
  constexpr std::uint64_t kTables = 32 + 32 * 4;
  constexpr std::uint64_t kBlock = 128 << 10;
  constexpr std::uint64_t kStoredBlock = 70'000;
  FirstTouch touch{.stored = {0, kTables + 32 * kStoredBlock},
                   .nbytes = 32 * kBlock,
                   .within = {8 * kBlock + 5, 100}};
  const auto bytes_of = [&](std::optional<std::uint64_t> deviation) {
    std::uint64_t bytes = 0;
    const auto ranges = first_touch_ranges(touch, {kTables, kBlock, deviation});
    for (const auto& range : ranges) bytes += range.size;
    CHECK(covers(ranges, {0, kTables}));
    if (ranges.size() > 1) CHECK(covers(ranges, {kTables + 8 * kStoredBlock, kStoredBlock}));
    return bytes;
  };
  CHECK(bytes_of({}) > 2 * kStoredBlock);
  CHECK(bytes_of(0) < kStoredBlock + 3000);
  CHECK(bytes_of(10'000) < kStoredBlock + 45'000);
  // The window would be mostly waste: the tables alone.
  CHECK(bytes_of(50'000) < 3000);
  // A reader that goes on wants the rest soon.
  touch.goes_on = true;
  CHECK(bytes_of(50'000) > kStoredBlock);
}

TEST_CASE("first_touch: the ranges stay within any chunk", "[fs][first_touch][unit]") {
  for (const std::uint64_t size : {0UL, 1UL, 65'536UL, 65'537UL, 70'000UL, 1UL << 31}) {
    for (const std::uint64_t nbytes : {0UL, 1UL, 4096UL, 1UL << 31}) {
      for (const std::uint64_t offset : {0UL, nbytes / 2, nbytes}) {
        for (const ChunkShape shape :
             {ChunkShape{}, ChunkShape{1, 1}, ChunkShape{1UL << 40, 1UL << 30}}) {
          INFO(size << " " << nbytes << " " << offset << " " << shape.table_bytes);
          const FirstTouch touch{
              .stored = {5, size}, .nbytes = nbytes, .within = {offset, nbytes - offset}};
          for (const auto& range : first_touch_ranges(touch, shape)) {
            CHECK(range.offset >= 5);
            CHECK(range.offset - 5 <= size);
            CHECK(range.size <= size - (range.offset - 5));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace framefs::fs::first_touch_test
