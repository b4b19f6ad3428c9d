#include "codec/array/touched_blocks.h"

#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/array_model.h"
#include "tests/support/catch.h"
#include "tests/support/random_seed.h"

namespace framefs::codec::touched_blocks_test {
namespace {

using BlockId = std::pair<std::uint64_t, std::uint64_t>;

std::vector<BlockId> touched(const ArrayLayout& layout, ByteRange range) {
  std::vector<BlockId> out;
  TouchedBlocks(layout, range).for_each([&](ChunkIndex chunk, BlockIndex block) {
    out.emplace_back(chunk.value, block.value);
  });
  return out;
}

// Oracle: the position of each byte, computed with the formula.
void check_touched(const ArrayLayout& layout, const std::vector<test::BytePlace>& places,
                   ByteRange range) {
  INFO("range " << range.offset << " + " << range.size);
  std::set<BlockId> expect;
  for (std::uint64_t i = 0; i < range.size; ++i) {
    expect.emplace(places[range.offset + i].chunk, places[range.offset + i].block);
  }
  const auto found = touched(layout, range);
  REQUIRE(std::set<BlockId>(found.begin(), found.end()) == expect);
  REQUIRE(found.size() == expect.size());  // each block once
}

TEST_CASE("touched_blocks: a range that turns from one row to the next names each block once",
          "[codec][touched_blocks][unit]") {
  // Two rows of ten items in blocks of 2 x 3.  The end of the first row and the start of the second
  // are in blocks 2, 3 and 0, 1, or they overlap.
  const auto layout = test::array_layout({{2, 10}, {2, 10}, {2, 3}, 1});
  const auto blocks = [&](ByteRange range) {
    std::set<std::uint64_t> out;
    for (const auto& [chunk, block] : touched(layout, range)) out.insert(block);
    return out;
  };
  CHECK(blocks({7, 0}).empty());
  CHECK(blocks({7, 3}) == std::set<std::uint64_t>{2, 3});
  CHECK(blocks({7, 4}) == std::set<std::uint64_t>{0, 2, 3});
  CHECK(blocks({7, 9}) == std::set<std::uint64_t>{0, 1, 2, 3});
  CHECK(touched(layout, {4, 14}).size() == 4);
}

TEST_CASE("touched_blocks: random ranges of random arrays name the blocks of their bytes",
          "[codec][touched_blocks][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 500; ++round) {
    const auto array = test::random_array(random);
    INFO(test::describe(array));
    const auto layout = test::array_layout(array);
    const auto places = test::byte_places(array);
    check_touched(layout, places, {0, places.size()});
    for (int i = 0; i < 10 && !places.empty(); ++i) {
      const std::uint64_t offset = random() % places.size();
      check_touched(layout, places, {offset, random() % (places.size() - offset + 1)});
      // Short ranges cross the end of at most one row in most cases.
      check_touched(layout, places,
                    {offset, random() % (std::min<std::uint64_t>(places.size() - offset, 60) + 1)});
    }
  }
}

}  // namespace
}  // namespace framefs::codec::touched_blocks_test
