#include "codec/frame/data_place.h"

#include <cerrno>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/fetched_layers.h"
#include "tests/support/outcome.h"

namespace framefs::codec::data_place_test {
namespace {

constexpr std::int64_t kStored = 1000;
constexpr std::int64_t kZeros = std::int64_t{1} << 63 | std::int64_t{1} << 56;

// A frame of chunks of 4 blocks of 250 bytes.
DataPlace place_of(const std::string& metalayer) {
  FrameHeader header;
  header.chunksize = 1000;
  header.blocksize = 250;
  header.typesize = 1;
  std::vector<Metalayer> layers;
  if (!metalayer.empty()) layers.push_back({metalayer, {}});
  return DataPlace::of(header, layers, std::nullopt);
}

// The record of a cache of two chunks that lacks these blocks.
FetchedBlocks record_without(const std::set<std::size_t>& missing) {
  return FetchedBlocks::make({.chunks = 2, .blocks_per_chunk = 4},
                             {.blocks = test::bitmap(8, missing), .chunks = {}});
}

int errno_of(const Status& status) { return status ? 0 : status.error().sys; }

TEST_CASE("data_place: the metalayer tells a recipe and a cache from other frames",
          "[codec][data_place][unit]") {
  for (const std::string name : {"", "b2nd", "proxy", "LazyArray2"}) {
    CAPTURE(name);
    const auto place = place_of(name);
    CHECK_FALSE(place.lies_elsewhere());
    CHECK(place.has_data_of({0}, kZeros, nullptr));
    CHECK(errno_of(place.check_entry({0}, kStored, nullptr)) == 0);
  }
  for (const std::string name : {"b2o", "LazyArray"}) {
    CAPTURE(name);
    const auto place = place_of(name);
    CHECK(place.is_recipe());
    CHECK(place.lies_elsewhere());
    CHECK_FALSE(place.has_data_of({0}, kStored, nullptr));
    CHECK(errno_of(place.check_holds_data()) == EOPNOTSUPP);
    CHECK(errno_of(place.check_entry({0}, kStored, nullptr)) == EOPNOTSUPP);
  }
  const auto cache = place_of("proxy-source");
  CHECK(cache.is_remote_cache());
  CHECK(cache.lies_elsewhere());
  CHECK(errno_of(cache.check_holds_data()) == 0);
}

TEST_CASE("data_place: a cache has what its record says, whatever its index says",
          "[codec][data_place][unit]") {
  const auto cache = place_of("proxy-source");
  const auto record = record_without({0, 1, 2, 3, 5});
  for (const auto entry : {kStored, kZeros}) {
    CHECK_FALSE(cache.has_data_of({0}, entry, &record));
    CHECK(cache.has_data_of({1}, entry, &record));
    CHECK_FALSE(cache.has_data_of({1}, entry, nullptr));
    CHECK(errno_of(cache.check_entry({0}, entry, &record)) == EIO);
    CHECK(errno_of(cache.check_entry({1}, entry, &record)) == 0);
  }
}

// Only writers of chunks with one block kept no record.
TEST_CASE("data_place: without bitmaps, stored chunks are there if they are not special",
          "[codec][data_place][unit]") {
  const auto cache = place_of("proxy-source");
  const auto none = FetchedBlocks::make({.chunks = 2, .blocks_per_chunk = 1}, {});
  REQUIRE_FALSE(none.is_recorded());
  CHECK(cache.has_data_of({0}, kStored, &none));
  CHECK_FALSE(cache.has_data_of({0}, kZeros, &none));
  const auto special = Chunk::make_special(Special::zero, 1000, 1);
  REQUIRE(special);
  CHECK(errno_of(cache.check_opened(*special, &none)) == EIO);
  const auto record = record_without({});
  CHECK(errno_of(cache.check_opened(*special, &record)) == 0);
  CHECK(errno_of(cache.check_opened(*special, nullptr)) == 0);
}

TEST_CASE("data_place: a range is there if all blocks that it touches are",
          "[codec][data_place][unit]") {
  const auto cache = place_of("proxy-source");
  const auto record = record_without({5});
  const auto chunk = Chunk::make_special(Special::zero, 1000, 1).value();
  const auto check = [&](ChunkIndex index, ByteRange within) {
    return errno_of(cache.check_fetched(record, index, chunk, within));
  };
  CHECK(check({0}, {0, 1000}) == 0);
  CHECK(check({1}, {0, 250}) == 0);
  CHECK(check({1}, {249, 2}) == EIO);
  CHECK(check({1}, {499, 1}) == EIO);
  CHECK(check({1}, {500, 500}) == 0);
  CHECK(check({1}, {250, 0}) == 0);
}

}  // namespace
}  // namespace framefs::codec::data_place_test
