#include "codec/array/run_cursor.h"

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/array_model.h"
#include "tests/support/catch.h"
#include "tests/support/random_seed.h"

namespace framefs::codec::run_cursor_test {
namespace {

using test::array_layout;
using test::ArrayShape;
using test::byte_places;
using test::BytePlace;

BytePlace place_of(const ArrayRun& run) { return {run.chunk.value, run.block.value, run.within}; }

// Oracle: the position of each byte, computed with the formula.  The runs cover the range without
// gaps, each run is as long as possible, and ends_block() is true if none of the block's bytes
// follows.
void check_runs(const ArrayLayout& layout, const std::vector<BytePlace>& places, ByteRange range) {
  INFO("range " << range.offset << " + " << range.size);
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> last;
  for (std::uint64_t i = 0; i < places.size(); ++i) last[{places[i].chunk, places[i].block}] = i;

  RunCursor cursor(layout, range);
  std::uint64_t at = range.offset;
  const auto end = range.offset + range.size;
  while (cursor.next()) {
    const auto& run = cursor.run();
    REQUIRE(run.offset == at);
    REQUIRE(run.size > 0);
    REQUIRE(run.size <= end - at);
    auto expect = place_of(run);
    for (std::uint64_t i = 0; i < run.size; ++i, ++expect.within) REQUIRE(places[at + i] == expect);
    at += run.size;
    if (at < end) {
      const bool goes_on = places[at] == expect;
      REQUIRE_FALSE(goes_on);
    }
    REQUIRE(cursor.ends_block() == (last[{expect.chunk, expect.block}] == at - 1));
  }
  REQUIRE(at == end);
  REQUIRE_FALSE(cursor.next());
}

void check_array(const ArrayShape& array, std::mt19937& random) {
  INFO(test::describe(array));
  const auto layout = array_layout(array);
  const auto places = byte_places(array);
  check_runs(layout, places, {0, places.size()});
  check_runs(layout, places, {places.size(), 0});
  for (int i = 0; i < 6 && !places.empty(); ++i) {
    const std::uint64_t offset = random() % places.size();
    check_runs(layout, places, {offset, random() % (places.size() - offset + 1)});
  }
}

TEST_CASE("run_cursor: rows cut by blocks and chunks come run by run",
          "[codec][run_cursor][unit]") {
  // Rows of 7 items of 2 bytes, in chunks of 5 and blocks of 3 items.
  const auto layout = array_layout({{4, 7}, {3, 5}, {2, 3}, 2});
  RunCursor cursor(layout, {11, 10});
  struct Row {
    BytePlace place;
    std::uint64_t size;
    bool ends_block;
  };
  for (const auto& row : {Row{{1, 0, 1}, 3, false},  // items 5 and 6 of the first row
                          Row{{0, 0, 6}, 6, true},   // the second row
                          Row{{0, 1, 6}, 1, false}}) {
    REQUIRE(cursor.next());
    CHECK(place_of(cursor.run()) == row.place);
    CHECK(cursor.run().size == row.size);
    CHECK(cursor.ends_block() == row.ends_block);
  }
  CHECK_FALSE(cursor.next());
}

TEST_CASE("run_cursor: random ranges of random arrays are where the formula puts them",
          "[codec][run_cursor][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) check_array(test::random_array(random), random);
}

TEST_CASE("run_cursor: sixteen dimensions are walked like two", "[codec][run_cursor][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 10; ++round) {
    ArrayShape array{.typesize = test::draw(random) % 3 + 1};
    for (std::size_t d = 0; d < kMaxDims; ++d) {
      // Ten dimensions of two items: about a thousand items.
      array.shape.push_back(d % 8 < 5 ? 2 : 1);
      const auto chunk = test::draw(random) % 2 + 1;
      array.chunkshape.push_back(chunk);
      array.blockshape.push_back(test::draw(random) % chunk + 1);
    }
    check_array(array, random);
  }
}

TEST_CASE("run_cursor: an array in one block is one run", "[codec][run_cursor][unit]") {
  const auto layout = array_layout({{6, 5, 4}, {6, 5, 4}, {6, 5, 4}, 3});
  RunCursor cursor(layout, {1, 358});
  REQUIRE(cursor.next());
  CHECK(place_of(cursor.run()) == BytePlace{0, 0, 1});
  CHECK(cursor.run().size == 358);
  CHECK_FALSE(cursor.ends_block());  // byte 359 is outside the range
  CHECK_FALSE(cursor.next());
}

TEST_CASE("run_cursor: the end of the largest array is reached", "[codec][run_cursor][unit]") {
  // 2^28 - 1 chunks of 2^30 bytes in rows of 2^15 chunks and less.
  const std::uint64_t chunk = 1U << 30;
  ArrayShape array{{8191, 32767ULL << 27}, {1, 1U << 27}, {1, 1U << 20}, 8};
  const auto layout = array_layout(array);
  const auto nbytes = layout.nbytes();
  REQUIRE(nbytes == 8191ULL * 32767 * chunk);
  RunCursor cursor(layout, {nbytes - (8U << 20) - 5, (8U << 20) + 5});
  REQUIRE(cursor.next());
  CHECK(place_of(cursor.run()) == BytePlace{8191ULL * 32767 - 1, 126, (8U << 20) - 5});
  CHECK(cursor.run().size == 5);
  REQUIRE(cursor.next());
  CHECK(place_of(cursor.run()) == BytePlace{8191ULL * 32767 - 1, 127, 0});
  CHECK(cursor.ends_block());
  CHECK_FALSE(cursor.next());
}

}  // namespace
}  // namespace framefs::codec::run_cursor_test
