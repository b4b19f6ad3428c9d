#include "codec/core/byte_source.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tests/support/catch.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"
#include "tests/support/source_doubles.h"

namespace framefs::codec::byte_source_test {
namespace {

using test::Bytes;
using test::counting;
using test::outcome;

constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();

// Tries every range around a source of ten bytes that holds `content`.  Ranges inside are read; all
// others are refused, and nothing is written.
void check_all_ranges(const ByteSource& source, std::span<const std::byte> content) {
  REQUIRE(source.size().value() == content.size());
  for (std::uint64_t offset = 0; offset <= content.size() + 1; ++offset) {
    for (std::size_t size = 0; size <= content.size() + 1; ++size) {
      INFO("offset " << offset << ", size " << size);
      Bytes out(size, std::byte{0xee});
      const auto read = source.read_at(offset, out);
      const bool inside = offset + size <= content.size();
      REQUIRE(read.has_value() == inside);
      if (inside) {
        REQUIRE(std::ranges::equal(out, content.subspan(offset, size)));
      } else {
        REQUIRE(read.error().kind == Errc::truncated);
        REQUIRE(read.error().at == offset);
        REQUIRE(std::ranges::count(out, std::byte{0xee}) == static_cast<std::ptrdiff_t>(size));
      }
    }
  }
}

TEST_CASE("byte_source: memory is read within its bounds only", "[codec][byte_source][unit]") {
  const Bytes bytes = counting(10);
  check_all_ranges(MemorySource(bytes), bytes);
  check_all_ranges(MemorySource({}), {});
}

TEST_CASE("byte_source: a window reads its part and nothing beside it",
          "[codec][byte_source][unit]") {
  const Bytes bytes = counting(30);
  const MemorySource whole(bytes);
  const ByteWindow window(whole, 7, 10);
  check_all_ranges(window, std::span(bytes).subspan(7, 10));
  const ByteWindow inner(window, 3, 4);
  check_all_ranges(inner, std::span(bytes).subspan(10, 4));
  check_all_ranges(ByteWindow(whole, 30, 0), {});
}

TEST_CASE("byte_source: a window past its source's end passes the source's error on",
          "[codec][byte_source][corrupt]") {
  const Bytes bytes = counting(30);
  const MemorySource whole(bytes);
  const ByteWindow window(whole, 25, 10);
  CHECK(window.size().value() == 10);
  Bytes out(5);
  CHECK(window.read_at(0, out).has_value());
  CHECK(outcome(window.read_at(1, out)) == "truncated: source at 26");
}

// Bounds written as sums would wrap here.
TEST_CASE("byte_source: offsets near the largest number are refused",
          "[codec][byte_source][corrupt]") {
  const Bytes bytes = counting(10);
  const MemorySource memory(bytes);
  const ByteWindow window(memory, 2, 5);
  Bytes out(3);
  for (const std::uint64_t offset : {kMax, kMax - 1, kMax - 2, kMax - 3, kMax / 2}) {
    INFO("offset " << offset);
    CHECK(memory.read_at(offset, out).error().kind == Errc::truncated);
    CHECK(window.read_at(offset, out).error().kind == Errc::truncated);
    CHECK(window.read_at(offset, {}).error().kind == Errc::truncated);
  }
}

// Other tests rely on the doubles, which must record, fail and claim as described.
TEST_CASE("byte_source: the doubles record, fail once and claim a size",
          "[codec][byte_source][unit]") {
  const Bytes bytes = counting(10);
  const MemorySource memory(bytes);
  const test::RecordingSource recording(memory);
  Bytes out(3);
  REQUIRE(recording.read_at(4, out));
  CHECK(recording.reads() == std::vector<ByteRange>{{4, 3}});
  CHECK(recording.stayed_within(std::vector<ByteRange>{{0, 1}, {3, 4}}));
  CHECK_FALSE(recording.stayed_within(std::vector<ByteRange>{{5, 5}, {0, 6}}));

  const test::FailingSource failing(memory, 2);
  CHECK(failing.read_at(0, out).has_value());
  CHECK_FALSE(failing.has_failed());
  CHECK(outcome(failing.read_at(1, out)) == "system error: read at 1");
  CHECK(failing.has_failed());
  CHECK(failing.read_at(0, out).has_value());

  const test::VastSource vast(bytes, kMax);
  REQUIRE(vast.read_at(8, out));
  CHECK(out == Bytes{std::byte{8}, std::byte{9}, std::byte{0}});
  CHECK(vast.largest_read() == 3);
  CHECK(outcome(vast.read_at(kMax - 2, out)) ==
        "truncated: vast source at " + std::to_string(kMax - 2));
}

}  // namespace
}  // namespace framefs::codec::byte_source_test
