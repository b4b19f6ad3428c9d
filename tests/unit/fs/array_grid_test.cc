#include "fs/read/array_grid.h"

#include "tests/support/array_model.h"
#include "tests/support/catch.h"

namespace framefs::fs::array_grid_test {
namespace {

// An array of 5 x 10 items of one byte in blocks of 2 x 4, behind 3 other bytes.
const ArrayGrid kGrid(3, {{10, 20, 50}, {1, 4, 10}});

TEST_CASE("array_grid: the last band of an axis is shorter when blocks do not fit",
          "[fs][array_grid][unit]") {
  const auto& rows = kGrid.axes()[0];
  const auto& columns = kGrid.axes()[1];
  CHECK(kGrid.band(rows, 0) == 0);
  CHECK(kGrid.band(rows, 3 + 19) == 0);
  CHECK(kGrid.band(rows, 3 + 20) == 1);
  CHECK(kGrid.band(rows, 3 + 49) == 2);
  // Three bands for each row.
  CHECK(kGrid.band(columns, 3 + 7) == 1);
  CHECK(kGrid.band(columns, 3 + 9) == 2);
  CHECK(kGrid.band(columns, 3 + 10) == 3);
  CHECK(kGrid.band(columns, 3 + 25) == 7);
}

TEST_CASE("array_grid: bands end with their axis", "[fs][array_grid][unit]") {
  const auto& rows = kGrid.axes()[0];
  const auto& columns = kGrid.axes()[1];
  CHECK(kGrid.end_of_band(rows, 3, 0) == 3 + 20);
  CHECK(kGrid.end_of_band(rows, 3 + 21, 0) == 3 + 40);
  CHECK(kGrid.end_of_band(rows, 3 + 21, 1) == 3 + 50);
  CHECK(kGrid.end_of_band(rows, 3 + 21, 100) == 3 + 50);
  CHECK(kGrid.end_of_band(columns, 3 + 11, 0) == 3 + 14);
  CHECK(kGrid.end_of_band(columns, 3 + 11, 1) == 3 + 18);
  CHECK(kGrid.end_of_band(columns, 3 + 11, 2) == 3 + 20);
  CHECK(kGrid.end_of_extent(columns, 3 + 11) == 3 + 20);
  CHECK(kGrid.end_of_extent(rows, 0) == 3 + 50);
}

TEST_CASE("array_grid: a distance belongs to the outermost axis with steps as short",
          "[fs][array_grid][unit]") {
  CHECK(kGrid.axis_of(0) == nullptr);
  CHECK(kGrid.axis_of(9) == &kGrid.axes()[1]);
  CHECK(kGrid.axis_of(10) == &kGrid.axes()[0]);
  CHECK(kGrid.axis_of(1000) == &kGrid.axes()[0]);
  CHECK(ArrayGrid().axis_of(1000) == nullptr);
}

TEST_CASE("array_grid: an array without items has no bands", "[fs][array_grid][unit]") {
  const auto layout = test::array_layout(
      {.shape = {0, 5}, .chunkshape = {1, 5}, .blockshape = {1, 5}, .typesize = 4});
  CHECK(ArrayGrid::of(128, layout).axes().empty());
}

}  // namespace
}  // namespace framefs::fs::array_grid_test
