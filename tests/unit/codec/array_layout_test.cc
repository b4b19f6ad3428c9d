#include "codec/array/array_layout.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "codec/core/limits.h"
#include "tests/support/array_model.h"
#include "tests/support/catch.h"
#include "tests/support/outcome.h"
#include "tests/support/random_seed.h"

namespace framefs::codec::array_layout_test {
namespace {

using test::array_layout;
using test::array_meta;
using test::ArrayShape;
using test::byte_places;
using test::frame_extent;
using test::outcome;

// 9 chunks of 3 x 2 blocks of 5 x 4 items, 4 bytes each.
ArrayShape two_dimensions() { return {{25, 19}, {11, 8}, {5, 4}, 4}; }

Result<ArrayLayout> make(const ArrayShape& array, const FrameExtent& frame) {
  return ArrayLayout::make(array_meta(array), array.typesize, frame);
}

TEST_CASE("array_layout: sizes and grids follow from shapes and typesize",
          "[codec][array_layout][unit]") {
  const auto layout = array_layout(two_dimensions());
  CHECK(layout.nbytes() == 1900);
  CHECK(layout.block_bytes() == 80);
  CHECK(layout.blocks_per_chunk() == 6);
  CHECK(layout.chunk_count() == 9);
  CHECK(std::ranges::equal(layout.chunk_grid(), std::vector<std::uint64_t>{3, 3}));
}

TEST_CASE("array_layout: an array of no dimensions is one item", "[codec][array_layout][unit]") {
  const auto layout = array_layout({{}, {}, {}, 8});
  CHECK(layout.nbytes() == 8);
  CHECK(layout.block_bytes() == 8);
  CHECK(layout.chunk_count() == 1);
  CHECK(layout.chunk_grid().empty());
  CHECK(layout.levels() == 1);
  const auto slab = layout.slab(7, 0);
  CHECK(slab.bytes == ByteRange{0, 8});
  CHECK(slab.chunk_count == 1);
  CHECK(layout.end_of_block({0}, {0}) == 8);
}

TEST_CASE("array_layout: a dimension of no items leaves no bytes, whatever the frame holds",
          "[codec][array_layout][unit]") {
  for (const auto& [array, frame] :
       {std::pair{ArrayShape{{0, 7}, {0, 4}, {0, 2}, 8}, FrameExtent{0, 0, 0}},
        std::pair{ArrayShape{{7, 0}, {5, 4}, {2, 2}, 8}, FrameExtent{0, 384, 0}},
        std::pair{ArrayShape{{0, 19}, {11, 8}, {5, 4}, 4}, FrameExtent{4320, 480, 9}}}) {
    INFO(test::describe(array));
    const auto layout = make(array, frame);
    REQUIRE(layout);
    CHECK(layout->nbytes() == 0);
    CHECK(layout->chunk_count() == 0);
    CHECK(layout->levels() == 0);
    CHECK(layout->chunk_grid().size() == 2);
  }
}

TEST_CASE("array_layout: chunks of another size than the array's are refused",
          "[codec][array_layout][corrupt]") {
  const auto array = two_dimensions();
  auto frame = frame_extent(array);
  REQUIRE(frame.chunksize == 480);
  CHECK(outcome(make(array, frame)) == "ok");
  for (const std::uint64_t chunksize : {0U, 1U, 479U, 481U, 960U}) {
    INFO("chunksize " << chunksize);
    frame.chunksize = chunksize;
    CHECK(outcome(make(array, frame)) == "bad field: chunkshape at 0");
  }
}

TEST_CASE("array_layout: a frame of fewer chunks than the array's is refused",
          "[codec][array_layout][corrupt]") {
  const auto array = two_dimensions();
  const auto good = frame_extent(array);
  auto frame = good;
  frame.chunk_count = 8;
  CHECK(outcome(make(array, frame)) == "bad field: shape at 0");
  frame = good;
  frame.nbytes -= 1;  // the last chunk is short
  CHECK(outcome(make(array, frame)) == "bad field: shape at 0");
  frame = good;
  frame.chunk_count = 10;
  frame.nbytes += 1;
  CHECK(outcome(make(array, frame)) == "ok");
}

TEST_CASE("array_layout: chunks and blocks of no items are refused where the shape has some",
          "[codec][array_layout][corrupt]") {
  const auto frame = frame_extent(two_dimensions());
  auto array = two_dimensions();
  array.chunkshape[1] = 0;
  CHECK(outcome(make(array, frame)) == "bad field: chunkshape at 0");
  array = two_dimensions();
  array.blockshape[0] = 0;
  CHECK(outcome(make(array, frame)) == "bad field: blockshape at 0");
  array = two_dimensions();
  array.blockshape[0] = 12;  // larger than the chunk
  CHECK(outcome(make(array, frame)) == "bad field: blockshape at 0");
  array = two_dimensions();
  array.shape[0] = 0;
  array.blockshape[1] = 0;  // still refused: that dimension has items
  CHECK(outcome(make(array, frame)) == "bad field: blockshape at 0");
}

TEST_CASE("array_layout: typesizes outside of the format's are refused",
          "[codec][array_layout][corrupt]") {
  const auto array = two_dimensions();
  for (const std::uint32_t typesize : {0U, 0x80000000U, 0xffffffffU}) {
    CHECK(outcome(ArrayLayout::make(array_meta(array), typesize, frame_extent(array))) ==
          "bad field: typesize at 0");
  }
  auto meta = array_meta(array);
  meta.ndim = kMaxDims + 1;
  CHECK(outcome(ArrayLayout::make(meta, 4, frame_extent(array))) == "bad field: ndim at 0");
}

TEST_CASE("array_layout: blocks may be as large as the format allows, not larger",
          "[codec][array_layout][corrupt]") {
  const auto with = [](std::uint32_t items, std::uint32_t typesize) {
    const std::uint64_t bytes = std::uint64_t{items} * typesize;
    return outcome(make({{1}, {items}, {items}, typesize}, {bytes, bytes, 1}));
  };
  CHECK(with(kMaxBlockBytes, 1) == "ok");
  CHECK(with(kMaxBlockBytes + 1, 1) == "over limit: blockshape at 0");
  CHECK(with(1, kMaxBlockBytes) == "ok");
  CHECK(with(kMaxBlockBytes / 8, 8) == "ok");
  CHECK(with(kMaxBlockBytes / 8 + 1, 8) == "over limit: blockshape at 0");
  CHECK(with(0x7fffffff, 0x7fffffff) == "over limit: blockshape at 0");
}

TEST_CASE("array_layout: products that wrap are refused", "[codec][array_layout][corrupt]") {
  const std::uint64_t most = ~std::uint64_t{0};
  const FrameExtent vast{most, kMaxChunkBytes, kMaxChunks};
  // 2^32 blocks of 2^32 bytes: the product is 0 in 64 bits, as is that of 16 dimensions.
  CHECK(outcome(make({{1, 1}, {65536, 65536}, {65536, 65536}, 0x7fffffff}, vast)) ==
        "over limit: blockshape at 0");
  ArrayShape many;
  for (std::size_t d = 0; d < kMaxDims; ++d) {
    many.shape.push_back(1);
    many.chunkshape.push_back(65536);
    many.blockshape.push_back(65536);
  }
  CHECK(outcome(make(many, vast)) == "over limit: blockshape at 0");
  many.blockshape.assign(kMaxDims, 1);
  CHECK(outcome(make(many, vast)) == "bad field: chunkshape at 0");
  CHECK(outcome(make(many, {most, 0, kMaxChunks})) == "bad field: chunkshape at 0");
  // 2^64 chunks, in a frame that claims to have them.
  CHECK(outcome(make({{1ULL << 32, 1ULL << 32}, {1, 1}, {1, 1}, 1}, {most, 1, most})) ==
        "bad field: shape at 0");
  // One dimension of the maximal length: only the number of chunks decides.
  CHECK(outcome(make({{(1ULL << 63) - 1}, {0x7fffffff}, {1}, 1}, {most, 0x7fffffff, kMaxChunks})) ==
        "bad field: shape at 0");
}

TEST_CASE("array_layout: the largest array that frames can hold is laid out",
          "[codec][array_layout][unit]") {
  // The maximal number of chunks, of 2^30 bytes each.
  const std::uint64_t chunk = 1U << 30;
  const std::uint64_t nbytes = kMaxChunks * chunk;
  const auto layout =
      make({{nbytes / 8}, {1U << 27}, {1U << 20}, 8}, {nbytes, chunk, kMaxChunks}).value();
  CHECK(layout.nbytes() == nbytes);
  const auto slab = layout.slab(nbytes - 1, 0);
  CHECK(slab.bytes == ByteRange{nbytes - chunk, chunk});
  CHECK(slab.first.value == kMaxChunks - 1);
  CHECK(layout.end_of_block({kMaxChunks - 1}, {127}) == nbytes);
}

TEST_CASE("array_layout: dimensions whose rows run into each other are one axis",
          "[codec][array_layout][unit]") {
  CHECK(array_layout({{6, 5, 4}, {3, 5, 4}, {2, 5, 4}, 2}).levels() == 1);
  CHECK(array_layout({{6, 5, 4}, {3, 5, 9}, {2, 5, 4}, 2}).levels() == 1);
  CHECK(array_layout({{6, 5, 4}, {3, 5, 4}, {2, 5, 3}, 2}).levels() == 2);
  CHECK(array_layout({{6, 5, 4}, {3, 5, 4}, {2, 2, 4}, 2}).levels() == 2);
  CHECK(array_layout({{6, 5, 4}, {3, 5, 4}, {2, 2, 3}, 2}).levels() == 3);
  CHECK(array_layout({{6, 1, 4}, {3, 2, 4}, {2, 2, 4}, 2}).levels() == 2);
  CHECK(array_layout({{1, 1, 1}, {3, 2, 4}, {2, 2, 4}, 2}).levels() == 1);
}

// Oracle: the bytes of the slab, one by one.
void check_slab(const ArrayLayout& layout, const std::vector<test::BytePlace>& places,
                std::uint64_t offset, std::size_t level) {
  INFO("offset " << offset << ", level " << level);
  const auto slab = layout.slab(offset, level);
  REQUIRE(slab.bytes.size > 0);
  REQUIRE(slab.bytes.offset <= offset);
  REQUIRE(slab.bytes.offset + slab.bytes.size > offset);
  REQUIRE(slab.bytes.offset + slab.bytes.size <= places.size());
  std::set<std::uint64_t> chunks;
  for (std::uint64_t i = 0; i < slab.bytes.size; ++i) {
    chunks.insert(places[slab.bytes.offset + i].chunk);
  }
  REQUIRE(*chunks.begin() == slab.first.value);
  REQUIRE(*chunks.rbegin() == slab.first.value + slab.chunk_count - 1);
  REQUIRE(chunks.size() == slab.chunk_count);
  if (level == 0) {
    // No byte outside the slab is in its chunks, because the outermost axis is not cut elsewhere.
    for (std::uint64_t i = 0; i < places.size(); ++i) {
      const bool inside = i >= slab.bytes.offset && i - slab.bytes.offset < slab.bytes.size;
      REQUIRE(chunks.contains(places[i].chunk) == inside);
    }
  } else {
    const auto outer = layout.slab(offset, level - 1);
    REQUIRE(outer.bytes.offset <= slab.bytes.offset);
    REQUIRE(outer.bytes.offset + outer.bytes.size >= slab.bytes.offset + slab.bytes.size);
  }
  if (level + 1 == layout.levels()) REQUIRE(slab.chunk_count == 1);
}

TEST_CASE("array_layout: a slab has the bytes of its chunks, in random arrays",
          "[codec][array_layout][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const auto array = test::random_array(random);
    INFO(test::describe(array));
    const auto layout = array_layout(array);
    const auto places = byte_places(array);
    REQUIRE(layout.nbytes() == places.size());
    if (places.empty()) continue;
    for (int i = 0; i < 5; ++i) {
      const std::uint64_t offset = random() % places.size();
      for (std::size_t level = 0; level < layout.levels(); ++level) {
        check_slab(layout, places, offset, level);
      }
    }
  }
}

TEST_CASE("array_layout: the end of a block, and its used bytes, are behind its last byte",
          "[codec][array_layout][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const auto array = test::random_array(random);
    INFO(test::describe(array));
    const auto layout = array_layout(array);
    const auto places = byte_places(array);
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> ends;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> used;
    for (std::uint64_t i = 0; i < places.size(); ++i) {
      ends[{places[i].chunk, places[i].block}] = i + 1;
      auto& bytes = used[{places[i].chunk, places[i].block}];
      bytes = std::max(bytes, places[i].within + 1);
    }
    for (std::uint64_t chunk = 0; chunk < layout.chunk_count(); ++chunk) {
      for (std::uint64_t block = 0; block < layout.blocks_per_chunk(); ++block) {
        const auto end = ends.find({chunk, block});
        REQUIRE(layout.end_of_block({chunk}, {block}) == (end == ends.end() ? 0 : end->second));
        REQUIRE(layout.used_bytes({chunk}, {block}) == used[{chunk, block}]);
      }
    }
  }
}

}  // namespace
}  // namespace framefs::codec::array_layout_test
