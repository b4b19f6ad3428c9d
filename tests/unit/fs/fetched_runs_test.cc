#include "fs/read/fetched_runs.h"

#include <array>
#include <cerrno>
#include <vector>

#include "fs/core/files/file.h"
#include "fs/core/files/shared_window.h"
#include "tests/support/catch.h"

namespace framefs::fs::fetched_runs_test {
namespace {

using codec::ByteRange;

// A far source of bytes that are their own offsets, which counts the calls.
class Far final : public codec::ByteSource {
 public:
  codec::Status read_at(std::uint64_t, std::span<std::byte>) const override {
    return codec::fail(codec::Errc::internal, "one by one");
  }
  codec::Status read_ranges(std::span<const Read> reads) const override {
    ++calls;
    if (is_gone) return system_error_of(ESTALE, "gone");
    for (const auto& [offset, out] : reads) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(offset + i);
    }
    return {};
  }
  codec::Result<std::uint64_t> size() const override { return 1000; }
  [[nodiscard]] bool is_far() const noexcept override { return true; }
  void expect(std::span<const ByteRange> ranges,
              std::span<const ByteRange> /*next*/) const override {
    expected.assign(ranges.begin(), ranges.end());
  }

  mutable int calls = 0;
  mutable std::vector<ByteRange> expected;
  bool is_gone = false;
};

TEST_CASE("fetched_runs: all ranges by one call", "[fs][fetched_runs][unit]") {
  const Far far;
  codec::Scratch memory;
  const FetchedRuns runs(far, std::array{ByteRange{200, 50}, ByteRange{10, 20}}, memory);
  CHECK(far.calls == 1);
  std::array<std::byte, 5> out{};
  REQUIRE(runs.read_at(12, out));
  CHECK(out[0] == std::byte{12});
  REQUIRE(runs.read_at(245, out));
  CHECK(out[4] == std::byte{249});
  const auto whole = runs.bytes_at({200, 50});
  REQUIRE(whole);
  CHECK(whole->size() == 50);
  CHECK(whole->front() == std::byte{200});
  CHECK_FALSE(runs.bytes_at({200, 51}));
  CHECK(far.calls == 1);
  CHECK(runs.size() == 250U);
  for (const std::uint64_t outside : {0U, 26U, 100U, 246U, 900U}) {
    INFO(outside);
    const auto refused = runs.read_at(outside, out);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == codec::Errc::internal);
  }
}

TEST_CASE("fetched_runs: every read says why there is nothing", "[fs][fetched_runs][unit]") {
  Far far;
  far.is_gone = true;
  codec::Scratch memory;
  const FetchedRuns runs(far, std::array{ByteRange{0, 10}}, memory);
  std::array<std::byte, 5> out{};
  const auto failed = runs.read_at(0, out);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().sys == ESTALE);
}

TEST_CASE("byte_source: a window of a far source is far", "[fs][fetched_runs][unit]") {
  const auto far = std::make_shared<const Far>();
  const SharedWindow window(far, {100, 50});
  CHECK(window.is_far());
  std::array<std::byte, 2> one{};
  std::array<std::byte, 3> other{};
  REQUIRE(window.read_ranges(
      std::array{codec::ByteSource::Read{0, one}, codec::ByteSource::Read{47, other}}));
  CHECK(far->calls == 1);
  CHECK(one[0] == std::byte{100});
  CHECK(other[2] == std::byte{149});
  CHECK_FALSE(window.read_ranges(std::array{codec::ByteSource::Read{48, other}}));
  window.expect(std::array{ByteRange{10, 10}, ByteRange{40, 100}}, {});
  CHECK(far->expected == std::vector{ByteRange{110, 10}, ByteRange{140, 10}});
}

}  // namespace
}  // namespace framefs::fs::fetched_runs_test
