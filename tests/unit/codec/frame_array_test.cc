// The array of a frame, and the properties of it that its chunks get.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "codec/frame/frame.h"
#include "codec/frame/frame_reader.h"
#include "tests/support/array_metalayer.h"
#include "tests/support/catch.h"
#include "tests/support/frame_builder.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"

namespace framefs::codec::frame_array_test {
namespace {

using test::array_metalayer;
using test::ArrayLayer;
using test::Bytes;
using test::caterva_metalayer;
using test::ChunkSpec;
using test::FrameSpec;
using test::outcome;

constexpr Limits kLimits{};

// 20 by 12 items in two chunks of 10 by 12, each of which is one block.
ArrayLayer sample_layer() {
  return {.shape = {20, 12}, .chunkshape = {10, 12}, .blockshape = {10, 12}, .dtype = "<i4"};
}

Bytes sample_data(std::uint32_t typesize) {
  return test::ramp(std::size_t{240} * typesize, typesize);
}

Bytes array_frame(std::vector<test::Metalayer> metalayers, std::uint32_t typesize, bool cells) {
  ChunkSpec chunk;
  chunk.typesize = typesize;
  if (cells) chunk.cells = {.side = 3, .block_shape = {10, 12}};
  FrameSpec spec;
  spec.typesize = typesize;
  spec.chunksize = 120 * typesize;
  spec.metalayers = std::move(metalayers);
  const Bytes data = sample_data(typesize);
  for (std::size_t at = 0; at < data.size(); at += spec.chunksize) {
    spec.chunks.push_back(test::stored_chunk(std::span(data).subspan(at, spec.chunksize), chunk));
  }
  return test::build_frame(spec).bytes;
}

Result<Bytes> read_all(const Bytes& bytes) {
  const MemorySource source(bytes);
  FRAMEFS_TRY(const Frame frame, Frame::open(source, kLimits));
  Bytes out(frame.nbytes());
  FRAMEFS_CHECK(FrameReader(source, frame, kLimits).read(0, out));
  return out;
}

Frame opened(const Bytes& bytes) {
  auto frame = Frame::open(MemorySource(bytes), kLimits);
  INFO(outcome(frame));
  REQUIRE(frame);
  return std::move(*frame);
}

TEST_CASE("frame: one without an array metalayer is no array", "[codec][frame][unit]") {
  CHECK_FALSE(opened(array_frame({}, 4, false)).array().has_value());
  CHECK_FALSE(opened(array_frame({{"b2nd2", array_metalayer(sample_layer())}}, 4, false))
                  .array()
                  .has_value());
}

// Oracle: the values that were laid out.
TEST_CASE("frame: the array metalayer is read, by either name", "[codec][frame][unit]") {
  const auto layer = sample_layer();
  const test::Metalayer other{"other", test::counting(9)};
  for (const auto& [layers, dtype] :
       {std::pair{std::vector{other, test::Metalayer{"b2nd", array_metalayer(layer)}}, "<i4"},
        {std::vector{test::Metalayer{"caterva", caterva_metalayer(layer)}, other}, ""}}) {
    const Frame frame = opened(array_frame(layers, 4, false));
    REQUIRE(frame.array().has_value());
    REQUIRE(frame.array()->has_value());
    const ArrayMeta& meta = **frame.array();
    CHECK(meta.ndim == 2);
    CHECK(std::ranges::equal(meta.array_dims(), std::vector{20, 12}));
    CHECK(std::ranges::equal(meta.chunk_dims(), std::vector{10, 12}));
    CHECK(std::ranges::equal(meta.block_dims(), std::vector{10, 12}));
    CHECK(meta.dtype == dtype);
  }
}

TEST_CASE("frame: of the two names, b2nd counts", "[codec][frame][unit]") {
  auto layer = sample_layer();
  const Bytes b2nd = array_metalayer(layer);
  layer.shape = {1, 1};
  const Bytes frame =
      array_frame({{"caterva", caterva_metalayer(layer)}, {"b2nd", b2nd}}, 4, false);
  CHECK(opened(frame).array()->value().shape[0] == 20);
}

TEST_CASE("frame: a broken array metalayer is reported, and the bytes can still be read",
          "[codec][frame][corrupt]") {
  auto layer = sample_layer();
  layer.blockshape[1] = -1;
  const Bytes bytes = array_frame({{"b2nd", array_metalayer(layer)}}, 4, false);
  const Frame frame = opened(bytes);
  REQUIRE(frame.array().has_value());
  REQUIRE_FALSE(frame.array()->has_value());
  const auto error = frame.array()->error();
  CHECK(error.kind == Errc::bad_field);
  CHECK(std::string(error.field) == "blockshape");
  // The offset is counted from the frame's start.
  CHECK(error.at == frame.metalayers().front().content.offset + 40);
  CHECK(read_all(bytes) == sample_data(4));
}

// Oracle: the bytes that went in.
TEST_CASE("frame: chunks get the block shape and the size of items",
          "[codec][frame][ndcell][unit]") {
  for (const std::uint32_t typesize : {1U, 4U, 300U}) {
    INFO("typesize " << typesize);
    const auto layer = sample_layer();
    CHECK(read_all(array_frame({{"b2nd", array_metalayer(layer)}}, typesize, true)) ==
          sample_data(typesize));
    CHECK(read_all(array_frame({{"caterva", caterva_metalayer(layer)}}, typesize, true)) ==
          sample_data(typesize));
  }
}

TEST_CASE("frame: chunks that need the array are refused where it is missing, broken or another",
          "[codec][frame][ndcell][corrupt]") {
  CHECK(read_all(array_frame({}, 4, true)).error().kind == Errc::bad_field);
  auto layer = sample_layer();
  layer.blockshape = {10, 13};
  CHECK(read_all(array_frame({{"b2nd", array_metalayer(layer)}}, 4, true)).error().kind ==
        Errc::bad_field);
  layer.blockshape = {5, 12};
  CHECK(read_all(array_frame({{"b2nd", array_metalayer(layer)}}, 4, true)).error().kind ==
        Errc::bad_field);
}

TEST_CASE("frame: its memory includes a long dtype", "[codec][frame][unit]") {
  auto layer = sample_layer();
  const auto small = opened(array_frame({{"b2nd", array_metalayer(layer)}}, 4, false));
  layer.dtype = std::string(100'000, 'x');
  const auto large = opened(array_frame({{"b2nd", array_metalayer(layer)}}, 4, false));
  CHECK(large.memory_bytes() >= small.memory_bytes() + 99'000);
}

}  // namespace
}  // namespace framefs::codec::frame_array_test
