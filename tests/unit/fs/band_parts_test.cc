#include "fs/view/band_parts.h"

#include <algorithm>
#include <cstdint>
#include <random>

#include "tests/support/array_model.h"
#include "tests/support/catch.h"
#include "tests/support/random_seed.h"

namespace framefs::fs::band_parts_test {
namespace {

// Rows of 1000 bytes; blocks of 32 rows and 100 bytes, four of them in a chunk.
codec::ArrayLayout wide() {
  return test::array_layout(
      {.shape = {100, 1000}, .chunkshape = {64, 200}, .blockshape = {32, 100}, .typesize = 1});
}

TEST_CASE("band_parts: a part has as many whole rows as fit", "[fs][band_parts][unit]") {
  const auto layout = wide();
  CHECK(BandParts::band_bytes(layout) == 32'000);
  const auto parts = BandParts::make(layout, 12'500);
  REQUIRE(parts);
  // 32 rows make three parts of about equal size.
  CHECK(parts->part_at(0) == ByteRange{0, 11'000});
  CHECK(parts->part_at(10'999) == ByteRange{0, 11'000});
  CHECK(parts->part_at(11'000) == ByteRange{11'000, 11'000});
  CHECK(parts->part_at(31'999) == ByteRange{22'000, 10'000});
  CHECK(parts->part_at(32'000) == ByteRange{32'000, 11'000});
  // The array ends in the third block of rows of the second chunk.
  CHECK(parts->part_at(99'999) == ByteRange{96'000, 4'000});
}

TEST_CASE("band_parts: parts of one row are not worth it", "[fs][band_parts][unit]") {
  const auto layout = wide();
  CHECK_FALSE(BandParts::make(layout, 0));
  CHECK_FALSE(BandParts::make(layout, 1'999));
  CHECK(BandParts::make(layout, 2'000));
  const auto nothing = test::array_layout(
      {.shape = {0, 10}, .chunkshape = {2, 5}, .blockshape = {1, 5}, .typesize = 1});
  CHECK_FALSE(BandParts::make(nothing, 1u << 20));
}

TEST_CASE("band_parts: the parts of any array tile it", "[fs][band_parts][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  int made = 0;
  for (int round = 0; round < 500; ++round) {
    const auto shape = test::random_array(random);
    INFO(test::describe(shape));
    const auto layout = test::array_layout(shape);
    if (layout.nbytes() == 0) continue;
    const std::uint64_t most = random() % layout.nbytes() + 1;
    const auto parts = BandParts::make(layout, most);
    if (!parts) continue;
    ++made;
    for (std::uint64_t offset = 0; offset < layout.nbytes();) {
      const auto part = parts->part_at(offset);
      REQUIRE(part.offset == offset);
      REQUIRE(part.size > 0);
      REQUIRE(part.size <= most);
      REQUIRE(part.size <= layout.nbytes() - offset);
      REQUIRE(parts->part_at(offset + random() % part.size) == part);
      offset += part.size;
    }
  }
  CHECK(made > 50);
}

}  // namespace
}  // namespace framefs::fs::band_parts_test
