// ndcell and ndmean: the order of cells, and the requirements of the pipeline on the array.
#include "codec/filter/ndcell.h"

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "codec/filter/pipeline.h"
#include "tests/support/catch.h"
#include "tests/support/forward_filters.h"
#include "tests/support/outcome.h"
#include "tests/support/random_seed.h"
#include "tests/unit/codec/filter_checks.h"

namespace framefs::codec::ndcell_test {
namespace {

using test::Bytes;
using test::draw;
using test::ndcell_forward;
using test::outcome;
using Dims = std::vector<std::uint32_t>;

constexpr std::uint8_t kNdcell = 32;
constexpr std::uint8_t kNdmean = 33;
constexpr std::uint8_t kShuffle = 1;

std::size_t items_of(const Dims& dims) {
  std::size_t items = 1;
  for (const auto dim : dims) items *= dim;
  return items;
}

BlockShape shape_of(const Dims& dims) {
  BlockShape shape{.ndim = static_cast<std::uint8_t>(dims.size())};
  for (std::size_t i = 0; i < dims.size(); ++i) shape.dims.at(i) = dims[i];
  return shape;
}

// A pipeline with one of the two filters in slot 4.
Result<FilterPipeline> make(std::uint8_t filter, std::uint8_t side,
                            const std::optional<BlockShape>& block, std::uint32_t typesize = 4) {
  FilterSlots slots{};
  slots[4] = {.id = filter, .meta = side};
  return FilterPipeline::make(slots, {.typesize = static_cast<std::uint8_t>(typesize),
                                      .schunk_typesize = typesize,
                                      .block_shape = block});
}

std::string made(std::uint8_t filter, std::uint8_t side, const Dims& dims,
                 std::uint32_t typesize = 4) {
  return outcome(make(filter, side, shape_of(dims), typesize));
}

Bytes decoded(const FilterPipeline& pipeline, const Bytes& filtered) {
  Bytes out(filtered.size(), std::byte{0xee});
  Bytes scratch(filtered.size(), std::byte{0xdd});
  const auto input = pipeline.input(out, scratch);
  std::ranges::copy(filtered, input.begin());
  pipeline.decode(out, scratch, {});
  return out;
}

Bytes scattered(const Dims& dims, std::uint32_t side, std::size_t item_bytes, const Bytes& from) {
  Bytes to(from.size(), std::byte{0xee});
  unndcell(dims, side, item_bytes, from, to);
  return to;
}

// Oracle: values computed by hand.
TEST_CASE("ndcell: a plane of 3 by 5 in cells of 2 by 2", "[codec][ndcell][unit]") {
  const Bytes cells = bytes_of({1, 2, 6, 7, 3, 4, 8, 9, 5, 10, 11, 12, 13, 14, 15});
  CHECK(scattered({3, 5}, 2, 1, cells) ==
        bytes_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
}

TEST_CASE("ndcell: one cell, and cells of one item, leave all in place", "[codec][ndcell][unit]") {
  const Bytes block = test::noise(2 * 3 * 4 * 5, 1);
  CHECK(scattered({2, 3, 4}, 1, 5, block) == block);
  CHECK(scattered({2, 3, 4}, 4, 5, block) == block);
  CHECK(scattered({2, 3, 4}, 255, 5, block) == block);
  CHECK(scattered({24}, 7, 5, block) == block);
}

// Oracle: the tests' own implementation of the forward filter.
TEST_CASE("ndcell: blocks of any shape come back", "[codec][ndcell][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    Dims dims(1 + draw(random) % kMaxCellDims);
    for (auto& dim : dims) dim = 1 + draw(random) % (dims.size() > 4 ? 4 : 11);
    const std::uint32_t side = 1 + draw(random) % 6;
    const std::size_t item_bytes = 1 + draw(random) % (round % 10 == 0 ? 400 : 9);
    if (items_of(dims) > 5000) continue;
    const Bytes block = test::noise(items_of(dims) * item_bytes, draw(random));
    INFO(dims.size() << " dimensions, " << items_of(dims) << " items, cells of " << side);
    REQUIRE(scattered(dims, side, item_bytes, ndcell_forward(block, dims, side, item_bytes)) ==
            block);
  }
}

// Oracle: as above, followed by the tests' own shuffle.
TEST_CASE("ndcell: the pipeline undoes it where its slot is", "[codec][ndcell][unit]") {
  const Dims dims = {7, 6, 5};
  const Bytes block = test::ramp(items_of(dims) * 4, 4);
  const Bytes cells = ndcell_forward(block, dims, 3, 4);
  const PipelineShape shape{.typesize = 4, .schunk_typesize = 4, .block_shape = shape_of(dims)};
  FilterSlots slots{};
  slots[4] = {.id = kNdcell, .meta = 3};
  CHECK(decoded(*FilterPipeline::make(slots, shape), cells) == block);
  slots[5] = {.id = kShuffle, .meta = 0};
  const auto both = FilterPipeline::make(slots, shape);
  REQUIRE(both);
  CHECK(decoded(*both, test::filter_forward(test::Filter::shuffle, cells, 4, {})) == block);
  CHECK(both->needs_scratch());
  CHECK_FALSE(both->is_identity());
}

TEST_CASE("ndcell: items are the frame's, which may be larger than the chunk says",
          "[codec][ndcell][unit]") {
  const Dims dims = {4, 6};
  const Bytes block = test::noise(items_of(dims) * 300, 1);
  FilterSlots slots{};
  slots[0] = {.id = kNdcell, .meta = 3};
  const auto pipeline = FilterPipeline::make(
      slots, {.typesize = 1, .schunk_typesize = 300, .block_shape = shape_of(dims)});
  REQUIRE(pipeline);
  CHECK(decoded(*pipeline, ndcell_forward(block, dims, 3, 300)) == block);
}

// Oracle: means computed here.  The data are whole numbers, so that the means are exact.
TEST_CASE("ndmean: every item becomes the mean of its cell", "[codec][ndmean][unit]") {
  // 3 by 4 floats in cells of 2 by 2, stored cell by cell.
  const std::array cells = {1.0F, 1.0F, 1.0F, 1.0F, 2.0F, 2.0F, 2.0F, 2.0F, 3.0F, 3.0F, 4.0F, 4.0F};
  const std::array plane = {1.0F, 1.0F, 2.0F, 2.0F, 1.0F, 1.0F, 2.0F, 2.0F, 3.0F, 3.0F, 4.0F, 4.0F};
  const auto bytes = [](const auto& numbers) {
    const auto view = std::as_bytes(std::span(numbers));
    return Bytes(view.begin(), view.end());
  };
  const auto pipeline = make(kNdmean, 2, shape_of({3, 4}));
  REQUIRE(pipeline);
  CHECK(decoded(*pipeline, bytes(cells)) == bytes(plane));
}

// Oracle: the tests' own ndcell, because ndmean uses the same cells.
TEST_CASE("ndmean: cells stand where those of ndcell do", "[codec][ndmean][unit]") {
  std::mt19937 random(4);
  for (int round = 0; round < 100; ++round) {
    Dims dims(1 + draw(random) % 5);
    for (auto& dim : dims) dim = 1 + draw(random) % 7;
    const auto side = static_cast<std::uint8_t>(1 + draw(random) % std::min(dims.front(), 5U));
    const std::uint32_t typesize = round % 2 == 0 ? 4 : 8;
    const Bytes block = test::noise(items_of(dims) * typesize, draw(random));
    const auto pipeline = make(kNdmean, side, shape_of(dims), typesize);
    INFO(outcome(pipeline));
    REQUIRE(pipeline);
    REQUIRE(decoded(*pipeline, ndcell_forward(block, dims, side, typesize)) == block);
  }
}

TEST_CASE("ndmean: a cell as large as the block is the block", "[codec][ndmean][unit]") {
  const Bytes block = test::noise(2 * 3 * 4, 1);
  CHECK(decoded(*make(kNdmean, 127, shape_of({2, 3})), block) == block);
}

TEST_CASE("cell filters: without an array there is nothing to go by",
          "[codec][ndcell][ndmean][corrupt]") {
  for (const auto id : {kNdcell, kNdmean}) {
    CHECK(outcome(make(id, 2, std::nullopt)) == "bad field: cell filter without an array at 20");
  }
}

TEST_CASE("cell filters: no or more than 8 dimensions are refused",
          "[codec][ndcell][ndmean][corrupt]") {
  for (const auto id : {kNdcell, kNdmean}) {
    CHECK(made(id, 1, {}) == "bad field: ndim of a cell filter at 20");
    CHECK(made(id, 2, Dims(8, 2)) == "ok");
    CHECK(made(id, 2, Dims(9, 2)) == "bad field: ndim of a cell filter at 20");
    CHECK(made(id, 1, Dims(16, 1)) == "bad field: ndim of a cell filter at 20");
  }
}

TEST_CASE("cell filters: blocks of no items, or of too many, are refused",
          "[codec][ndcell][ndmean][corrupt]") {
  constexpr std::uint32_t kHalf = 1U << 31;
  for (const auto id : {kNdcell, kNdmean}) {
    for (const auto& dims : {Dims{0}, Dims{4, 0, 4}, Dims{1U << 16, 1U << 16}, Dims{kHalf, kHalf},
                             Dims{kHalf, kHalf, kHalf, 2}, Dims{kMaxBlockBytes / 4 + 1}}) {
      CHECK(made(id, 1, dims) == "bad field: block shape of a cell filter at 20");
    }
    CHECK(made(id, 1, {kMaxBlockBytes / 4}) == "ok");
  }
}

TEST_CASE("ndcell: a cell side of 0, or cells larger than the block, are refused",
          "[codec][ndcell][corrupt]") {
  const std::string refused = "bad field: cell side at 28";
  CHECK(made(kNdcell, 0, {10, 10}) == refused);
  CHECK(made(kNdcell, 10, {10, 10}) == "ok");
  CHECK(made(kNdcell, 11, {10, 10}) == refused);
  CHECK(made(kNdcell, 20, {400, 1}) == "ok");
  CHECK(made(kNdcell, 21, {400, 1}) == refused);
  CHECK(made(kNdcell, 255, {255}) == "ok");
  CHECK(made(kNdcell, 255, {254}) == refused);
  CHECK(made(kNdcell, 128, {1000}) == "ok");
  CHECK(made(kNdcell, 255, Dims(8, 4)) == refused);  // 255 to the power of 8
}

TEST_CASE("ndmean: a cell side of 0 or that reads as negative is refused",
          "[codec][ndmean][corrupt]") {
  const std::string refused = "bad field: cell side at 28";
  CHECK(made(kNdmean, 0, {1000}) == refused);
  CHECK(made(kNdmean, 127, {1000}) == "ok");
  for (const unsigned side : {128U, 200U, 255U}) {
    CHECK(made(kNdmean, static_cast<std::uint8_t>(side), {1000}) == refused);
  }
}

TEST_CASE("ndmean: items other than floats and doubles are refused", "[codec][ndmean][corrupt]") {
  for (const std::uint32_t typesize : {1U, 2U, 3U, 5U, 16U}) {
    CHECK(made(kNdmean, 2, {10}, typesize) == "bad field: typesize of ndmean at 20");
    CHECK(made(kNdcell, 2, {10}, typesize) == "ok");
  }
}

// Writers and readers of the reference library share this error.
TEST_CASE("ndmean: blocks thinner than a cell in the first dimension alone are refused",
          "[codec][ndmean][corrupt]") {
  const std::string refused = "bad field: cells of ndmean at 20";
  CHECK(made(kNdmean, 4, {2, 8}) == refused);
  CHECK(made(kNdmean, 4, {2, 4, 5}) == refused);
  CHECK(made(kNdmean, 4, {2, 4, 3}) == "ok");
  CHECK(made(kNdmean, 4, {8, 2}) == "ok");
  CHECK(made(kNdmean, 4, {4, 9, 1}) == "ok");
}

TEST_CASE("cell filters: blocks of another size than the array's are refused",
          "[codec][ndcell][ndmean][corrupt]") {
  for (const auto id : {kNdcell, kNdmean}) {
    const auto pipeline = make(id, 2, shape_of({5, 6}));
    REQUIRE(pipeline);
    CHECK(outcome(pipeline->check_block(120)) == "ok");
    for (const std::size_t size : {0U, 1U, 30U, 119U, 121U, 240U}) {
      CHECK(outcome(pipeline->check_block(size)) == "bad field: block size of a cell filter at 0");
    }
  }
  CHECK(FilterPipeline::make({}, {})->check_block(123));
}

}  // namespace
}  // namespace framefs::codec::ndcell_test
