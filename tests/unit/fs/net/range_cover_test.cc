#include "fs/net/cache/range_cover.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "tests/support/catch.h"

namespace framefs::net::range_cover_test {
namespace {

constexpr ContentKey kKey{.high = 0, .low = 1};
constexpr std::uint64_t kSize = 1000;

using Bytes = std::vector<std::byte>;

// Byte `at` of the object.
std::byte byte_at(std::uint64_t at) { return static_cast<std::byte>(at * 7 % 251); }

Part part_of(ByteRange range) {
  Bytes bytes;
  for (auto at = range.offset; at < range.offset + range.size; ++at) bytes.push_back(byte_at(at));
  return {range.offset, std::make_shared<const Bytes>(std::move(bytes))};
}

// The parts and the flights that a scheduler has of the object.
struct Supplies {
  PartStore parts{1 << 20};
  FlightTable table;

  void have(ByteRange range, bool is_ahead = false) {
    parts.insert(kKey, part_of(range), is_ahead);
  }
  FlightTable::FlightPtr fly(ByteRange range) { return table.add(kKey, range, Priority::demand); }
  RangeCover cover(const std::vector<Want>& wants) {
    RangeCover cover;
    for (const auto& want : wants) cover.add(kKey, want, parts, table);
    return cover;
  }
};

std::vector<ByteRange> ranges(const std::vector<Want>& wants) {
  std::vector<ByteRange> ranges;
  for (const auto& want : wants) ranges.push_back(want.range);
  return ranges;
}

using Ranges = std::vector<ByteRange>;

TEST_CASE("range_cover: a range is cut where its supply changes", "[net][range_cover][unit]") {
  Supplies s;
  s.have({100, 50});
  const auto flight = s.fly({200, 50});
  Bytes out(300);
  const auto cover = s.cover({{{50, 300}, out.data()}});
  REQUIRE(cover.ready.size() == 1);
  CHECK(cover.ready[0].want.range == ByteRange{100, 50});
  CHECK(cover.ready[0].want.out == out.data() + 50);
  CHECK(ranges(cover.joined) == Ranges{{200, 50}});
  CHECK(cover.joined[0].out == out.data() + 150);
  CHECK(cover.flights == std::vector{flight});
  CHECK(ranges(cover.missing) == Ranges{{50, 50}, {150, 50}, {250, 100}});
  CHECK(cover.missing[2].out == out.data() + 200);
}

TEST_CASE("range_cover: memory is used where a flight fetches the same bytes",
          "[net][range_cover][unit]") {
  Supplies s;
  s.have({0, 100});
  s.fly({50, 100});
  const auto cover = s.cover({{{0, 150}}});
  REQUIRE(cover.ready.size() == 1);
  CHECK(cover.ready[0].want.range == ByteRange{0, 100});
  CHECK(ranges(cover.joined) == Ranges{{100, 50}});
  CHECK(cover.missing.empty());
}

TEST_CASE("range_cover: a flight that supplies several ranges is listed once",
          "[net][range_cover][unit]") {
  Supplies s;
  const auto flight = s.fly({0, 100});
  const auto cover = s.cover({{{0, 10}}, {{50, 10}}, {{90, 10}}});
  CHECK(ranges(cover.joined) == Ranges{{0, 10}, {50, 10}, {90, 10}});
  CHECK(cover.flights == std::vector{flight});
  CHECK(flight->waiters == 0);
}

TEST_CASE("range_cover: new flights supply what was missing", "[net][range_cover][unit]") {
  Supplies s;
  const auto old = s.fly({0, 10});
  auto cover = s.cover({{{0, 30}}});
  const auto made = s.fly({10, 20});
  cover.supply_missing({made});
  CHECK(cover.missing.empty());
  CHECK(ranges(cover.joined) == Ranges{{0, 10}, {10, 20}});
  CHECK(cover.flights == std::vector{old, made});
}

TEST_CASE("range_cover: only a reader is the first reader of a part that was fetched ahead",
          "[net][range_cover][unit]") {
  Supplies s;
  s.have({0, 100}, true);
  s.have({100, 100});
  CHECK(s.cover({{{0, 200}}}).first_read_bytes == 0);
  Bytes out(200);
  CHECK(s.cover({{{50, 100}, out.data()}}).first_read_bytes == 100);
  CHECK(s.cover({{{0, 200}, out.data()}}).first_read_bytes == 0);
}

TEST_CASE("range_cover: a want takes the bytes that a part has of it", "[net][range_cover][unit]") {
  Bytes out(100);
  const Want want{{100, 100}, out.data()};
  const auto count_right = [&] {
    std::size_t right = 0;
    for (std::size_t i = 0; i < out.size(); ++i) right += out[i] == byte_at(100 + i) ? 1U : 0U;
    return right;
  };
  std::ranges::fill(out, std::byte{255});  // no byte of the object
  for (const auto& outside : {ByteRange{0, 100}, ByteRange{200, 100}}) want.take(part_of(outside));
  CHECK(count_right() == 0);
  want.take(part_of({50, 60}));
  CHECK(count_right() == 10);
  want.take(part_of({150, 20}));
  CHECK(count_right() == 30);
  want.take(part_of({0, kSize}));
  CHECK(count_right() == 100);
  Want{{100, 100}}.take(part_of({0, kSize}));  // it has no memory
}

TEST_CASE("range_cover: each byte lies in one piece", "[net][range_cover][unit]") {
  Supplies s;
  for (std::uint64_t at = 0; at < kSize; at += 70) s.have({at, 20});
  for (std::uint64_t at = 20; at < kSize; at += 140) s.fly({at, 15});
  for (std::uint64_t begin = 0; begin < 150; ++begin) {
    for (std::uint64_t end = begin; end < 160; ++end) {
      const auto cover = s.cover({{{begin, end - begin}}});
      bool is_right = true;
      std::array<int, 160> times{};
      const auto count = [&](const Want& want) {
        is_right = is_right && want.range.size > 0;
        for (auto at = want.range.offset; at < want.end(); ++at) ++times.at(at);
      };
      for (const auto& [want, part] : cover.ready) {
        count(want);
        is_right = is_right && part.offset <= want.range.offset && part.end() >= want.end();
      }
      std::ranges::for_each(cover.joined, count);
      std::ranges::for_each(cover.missing, count);
      for (std::uint64_t at = 0; at < times.size(); ++at) {
        is_right = is_right && times.at(at) == (at >= begin && at < end ? 1 : 0);
      }
      INFO("from " << begin << " to " << end);
      REQUIRE(is_right);
    }
  }
}

}  // namespace
}  // namespace framefs::net::range_cover_test
