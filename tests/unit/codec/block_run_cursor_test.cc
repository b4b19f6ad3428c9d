#include "codec/array/block_run_cursor.h"

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "codec/array/run_cursor.h"
#include "tests/support/array_model.h"
#include "tests/support/catch.h"
#include "tests/support/random_seed.h"

namespace framefs::codec::block_run_cursor_test {
namespace {

// For each byte of the range, its offset in the array and in the block.
using Bytes = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Bytes bytes_of_block(const ArrayLayout& layout, ChunkIndex chunk, BlockIndex block,
                     ByteRange range) {
  Bytes out;
  BlockRunCursor cursor(layout, chunk, block, range);
  while (cursor.next()) {
    const auto& run = cursor.run();
    REQUIRE(run.size > 0);
    for (std::uint64_t i = 0; i < run.size; ++i) out.emplace_back(run.offset + i, run.within + i);
  }
  REQUIRE_FALSE(cursor.next());
  return out;
}

// Oracle: the position of each byte, computed with the formula.
void check_blocks(const ArrayLayout& layout, const std::vector<test::BytePlace>& places,
                  ByteRange range) {
  INFO("range " << range.offset << " + " << range.size);
  std::map<std::pair<std::uint64_t, std::uint64_t>, Bytes> expect;
  for (auto at = range.offset; at < range.offset + range.size; ++at) {
    const auto& [chunk, block, within] = places[at];
    expect[{chunk, block}].emplace_back(at, within);
  }
  for (std::uint64_t chunk = 0; chunk < layout.chunk_count(); ++chunk) {
    for (std::uint64_t block = 0; block < layout.blocks_per_chunk(); ++block) {
      REQUIRE(bytes_of_block(layout, {chunk}, {block}, range) == expect[{chunk, block}]);
    }
  }
}

TEST_CASE("block_run_cursor: the blocks of random ranges hold the bytes that the formula gives",
          "[codec][block_run_cursor][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 150; ++round) {
    const auto array = test::random_array(random);
    INFO(test::describe(array));
    const auto layout = test::array_layout(array);
    const auto places = test::byte_places(array);
    check_blocks(layout, places, {0, places.size()});
    for (int i = 0; i < 3 && !places.empty(); ++i) {
      const std::uint64_t offset = random() % places.size();
      check_blocks(layout, places, {offset, random() % (places.size() - offset + 1)});
    }
  }
}

// A block of 2^29 rows: trying its rows one by one would take long.
TEST_CASE("block_run_cursor: a few bytes at the end of a large block are found at once",
          "[codec][block_run_cursor][unit]") {
  const std::uint32_t rows = 1U << 28;
  const auto layout = test::array_layout({{rows, 2}, {rows, 1}, {rows, 1}, 1});
  for (std::uint64_t i = 0; i < 100000; ++i) {
    BlockRunCursor cursor(layout, {1}, {0}, {2 * std::uint64_t{rows} - 4 - i, 4});
    REQUIRE(cursor.next());
    REQUIRE(cursor.run().size == 1);
    REQUIRE(cursor.next());
    REQUIRE(cursor.run().within == rows - 1 - (i + 1) / 2);
    REQUIRE_FALSE(cursor.next());
  }
}

}  // namespace
}  // namespace framefs::codec::block_run_cursor_test
