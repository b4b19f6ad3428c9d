#include "codec/array/array_meta.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/array_metalayer.h"
#include "tests/support/catch.h"
#include "tests/support/outcome.h"

namespace framefs::codec::array_meta_test {
namespace {

using test::array_metalayer;
using test::ArrayLayer;
using test::Bytes;
using test::caterva_metalayer;
using test::outcome;
using test::put_be;

constexpr std::int32_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

// Two dimensions.  Offsets: ndim 2; numbers of the shape 5 and 14, of the chunkshape 24 and 29, of
// the blockshape 35 and 40; format of the dtype 44, its marker 45, its length 46.
ArrayLayer two_dims() {
  return {.shape = {25, 19}, .chunkshape = {11, 8}, .blockshape = {5, 4}, .dtype = "<i4"};
}

// Oracle: the values that were laid out.
void check_round_trip(const ArrayLayer& layer, const Bytes& content, std::string_view dtype) {
  const auto meta = parse_array_meta(content);
  INFO(outcome(meta));
  REQUIRE(meta);
  CHECK(meta->ndim == layer.shape.size());
  CHECK(std::ranges::equal(meta->array_dims(), layer.shape, {}, {},
                           [](std::int64_t dim) { return static_cast<std::uint64_t>(dim); }));
  CHECK(std::ranges::equal(meta->chunk_dims(), layer.chunkshape, {}, {},
                           [](std::int32_t dim) { return static_cast<std::uint32_t>(dim); }));
  CHECK(std::ranges::equal(meta->block_dims(), layer.blockshape, {}, {},
                           [](std::int32_t dim) { return static_cast<std::uint32_t>(dim); }));
  CHECK(meta->dtype == dtype);
  CHECK(std::ranges::all_of(std::span(meta->shape).subspan(meta->ndim),
                            [](std::uint64_t dim) { return dim == 0; }));
}

void check_refused(const Bytes& content, Errc kind, std::string_view field, std::uint64_t at) {
  const auto meta = parse_array_meta(content);
  INFO(outcome(meta));
  REQUIRE_FALSE(meta);
  CHECK(meta.error().kind == kind);
  CHECK(meta.error().field == field);
  CHECK(meta.error().at == at);
}

void check_refused(const ArrayLayer& layer, std::string_view field, std::uint64_t at) {
  check_refused(array_metalayer(layer), Errc::bad_field, field, at);
}

TEST_CASE("array_meta: shapes of 0 to 16 dimensions are read", "[codec][array_meta][unit]") {
  for (std::size_t ndim = 0; ndim <= kMaxDims; ++ndim) {
    INFO(ndim << " dimensions");
    ArrayLayer layer;
    for (std::size_t i = 0; i < ndim; ++i) {
      layer.shape.push_back(static_cast<std::int64_t>(4 + i % 3));
      layer.chunkshape.push_back(static_cast<std::int32_t>(2 + i % 2));
      layer.blockshape.push_back(static_cast<std::int32_t>(1 + i % 3 / 2));
    }
    check_round_trip(layer, array_metalayer(layer), layer.dtype);
  }
}

TEST_CASE("array_meta: any dtype is kept as it is stored", "[codec][array_meta][unit]") {
  for (const auto& dtype : {std::string(), std::string("[('a', '<i4'), ('b', '<f8', (3,))]"),
                            std::string("\0\xff", 2), std::string(100'000, 'x')}) {
    auto layer = two_dims();
    layer.dtype = dtype;
    layer.dtype_format = 3;
    const Bytes content = array_metalayer(layer);
    check_round_trip(layer, content, dtype);
    CHECK(parse_array_meta(content)->dtype_format == 3);
  }
}

TEST_CASE("array_meta: a caterva layer has no dtype", "[codec][array_meta][unit]") {
  check_round_trip(two_dims(), caterva_metalayer(two_dims()), "");
}

TEST_CASE("array_meta: markers, version and trailing bytes are ignored",
          "[codec][array_meta][unit]") {
  const auto layer = two_dims();
  Bytes content = array_metalayer(layer);
  for (const std::size_t at : {0U, 1U, 3U, 4U, 13U, 22U, 23U, 28U, 33U, 34U, 39U}) {
    content.at(at) = std::byte{0x55};
  }
  content.push_back(std::byte{1});
  check_round_trip(layer, content, layer.dtype);
}

TEST_CASE("array_meta: every truncated prefix is refused but the one without a dtype",
          "[codec][array_meta][corrupt]") {
  const Bytes good = array_metalayer(two_dims());
  const std::size_t caterva = caterva_metalayer(two_dims()).size();
  for (std::size_t n = 0; n < good.size(); ++n) {
    INFO("prefix of " << n << " bytes");
    const auto meta = parse_array_meta(std::span(good).first(n));
    REQUIRE(meta.has_value() == (n == caterva));
    if (!meta) CHECK(meta.error().kind == Errc::truncated);
  }
}

TEST_CASE("array_meta: ndim above 16 or negative is refused", "[codec][array_meta][corrupt]") {
  for (const unsigned ndim : {17U, 127U, 128U, 255U}) {
    Bytes content = array_metalayer(two_dims());
    content.resize(5000);
    content.at(2) = static_cast<std::byte>(ndim);
    check_refused(content, Errc::bad_field, "ndim", 2);
  }
}

TEST_CASE("array_meta: ndim that does not fit the lists is refused",
          "[codec][array_meta][corrupt]") {
  Bytes content = array_metalayer(two_dims());
  content.at(2) = std::byte{0};
  check_refused(content, Errc::bad_field, "dtype", 7);
  content.at(2) = std::byte{3};
  CHECK_FALSE(parse_array_meta(content));
}

TEST_CASE("array_meta: negative dimensions are refused", "[codec][array_meta][corrupt]") {
  for (const std::int64_t dim : {std::int64_t{-1}, -kInt64Max - 1}) {
    auto layer = two_dims();
    layer.shape[1] = dim;
    check_refused(layer, "shape", 14);
  }
  for (const std::int32_t dim : {-1, -kInt32Max - 1}) {
    auto layer = two_dims();
    layer.chunkshape[0] = dim;
    check_refused(layer, "chunkshape", 24);
    layer = two_dims();
    layer.blockshape[1] = dim;
    check_refused(layer, "blockshape", 40);
  }
}

TEST_CASE("array_meta: chunks and blocks of no items are refused where the array has some",
          "[codec][array_meta][corrupt]") {
  auto layer = two_dims();
  layer.chunkshape[1] = 0;
  check_refused(layer, "chunkshape", 29);
  layer.blockshape[1] = 0;
  check_refused(layer, "chunkshape", 29);
  layer = two_dims();
  layer.blockshape[1] = 0;
  check_refused(layer, "blockshape", 40);

  layer = {.shape = {0, 7, 3}, .chunkshape = {0, 4, 2}, .blockshape = {0, 2, 2}};
  check_round_trip(layer, array_metalayer(layer), layer.dtype);
  layer = {.shape = {0, 7, 3}, .chunkshape = {5, 4, 2}, .blockshape = {2, 2, 2}};
  check_round_trip(layer, array_metalayer(layer), layer.dtype);
}

TEST_CASE("array_meta: a block larger than its chunk is refused", "[codec][array_meta][corrupt]") {
  auto layer = two_dims();
  layer.blockshape[0] = 12;
  check_refused(layer, "blockshape", 35);
  layer.blockshape[0] = 11;
  check_round_trip(layer, array_metalayer(layer), layer.dtype);
}

TEST_CASE("array_meta: products that do not fit are refused", "[codec][array_meta][corrupt]") {
  SECTION("of the shape") {
    check_refused({.shape = {1LL << 60, 19}, .chunkshape = {11, 8}, .blockshape = {5, 4}},
                  "product of the shape", 0);
    check_refused({.shape = {1LL << 33, 1LL << 33}, .chunkshape = {11, 8}, .blockshape = {5, 4}},
                  "product of the shape", 0);
    check_refused({.shape = {1LL << 32, 1LL << 31}, .chunkshape = {1, 1}, .blockshape = {1, 1}},
                  "product of the shape", 0);
    ArrayLayer layer{.shape = {kInt64Max}, .chunkshape = {1}, .blockshape = {1}};
    check_round_trip(layer, array_metalayer(layer), layer.dtype);
  }
  SECTION("of the shape, 0 counting as 1") {
    check_refused({.shape = {1LL << 60, 19, 0}, .chunkshape = {1, 1, 1}, .blockshape = {1, 1, 1}},
                  "product of the shape", 0);
  }
  SECTION("of the shape, rounded up to whole chunks") {
    check_refused({.shape = {kInt64Max}, .chunkshape = {2}, .blockshape = {1}},
                  "product of the shape", 0);
    check_refused({.shape = {1LL << 61, 3}, .chunkshape = {1, 4}, .blockshape = {1, 1}},
                  "product of the shape", 0);
  }
  SECTION("of the chunkshape") {
    check_refused({.shape = {25, 19}, .chunkshape = {kInt32Max, 8}, .blockshape = {5, 4}},
                  "product of the chunkshape", 0);
    check_refused({.shape = {25, 19}, .chunkshape = {1 << 16, 1 << 16}, .blockshape = {5, 4}},
                  "product of the chunkshape", 0);
    check_refused({.shape = {25, 19}, .chunkshape = {1 << 16, 1 << 15}, .blockshape = {5, 4}},
                  "product of the chunkshape", 0);
    ArrayLayer layer{.shape = {25, 19}, .chunkshape = {kInt32Max, 1}, .blockshape = {5, 1}};
    check_round_trip(layer, array_metalayer(layer), layer.dtype);
  }
  SECTION("of the blockshape, where there are no items") {
    check_refused({.shape = {0, 0}, .chunkshape = {0, 0}, .blockshape = {1 << 16, 1 << 16}},
                  "product of the blockshape", 0);
  }
}

TEST_CASE("array_meta: a wrong dtype is refused", "[codec][array_meta][corrupt]") {
  const Bytes good = array_metalayer(two_dims());
  Bytes content = good;
  content.at(45) = std::byte{0xc0};
  check_refused(content, Errc::bad_field, "dtype", 45);
  content = good;
  put_be<std::int32_t>(content, 46, -1);
  check_refused(content, Errc::bad_field, "dtype length", 46);
  for (const std::int32_t length : {4, 1 << 30, kInt32Max}) {
    content = good;
    put_be<std::int32_t>(content, 46, length);
    check_refused(content, Errc::truncated, "dtype", 50);
  }
}

// Oracle: the guarantees in the header array_meta.h.
TEST_CASE("array_meta: with any bit flipped, an accepted metalayer keeps the guarantees",
          "[codec][array_meta][corrupt]") {
  const Bytes good = array_metalayer(two_dims());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    INFO("bit " << bit % 8 << " of byte " << bit / 8);
    Bytes content = good;
    content[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    const auto meta = parse_array_meta(content);
    if (!meta) continue;
    REQUIRE(meta->ndim <= kMaxDims);
    for (std::size_t i = 0; i < meta->ndim; ++i) {
      if (meta->shape[i] == 0) continue;
      REQUIRE(meta->blockshape[i] > 0);
      REQUIRE(meta->blockshape[i] <= meta->chunkshape[i]);
    }
  }
}

}  // namespace
}  // namespace framefs::codec::array_meta_test
