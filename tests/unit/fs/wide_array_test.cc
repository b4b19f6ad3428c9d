#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codec/core/work_budget.h"
#include "fs/view/array_view.h"
#include "tests/support/catch.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/array_samples.h"
#include "tests/unit/fs/view_mount.h"

// Streaming reads of an array whose bands exceed the cache: see BandParts.
namespace framefs::fs::wide_array_test {
namespace {

using test::read;

constexpr std::uint64_t kRow = 4000;
constexpr std::uint64_t kRows = 64;
constexpr std::uint64_t kBand = 16 * kRow;
// Less than twice the band; the parts have eight rows.
constexpr std::uint64_t kBudget = 48'000;
constexpr std::uint64_t kPart = 8 * kRow;

test::ArraySpec wide_spec() {
  test::ArraySpec spec;
  spec.shape = {kRows, kRow / 4};
  spec.chunkshape = {32, 100};
  spec.blockshape = {16, 50};
  spec.dtype = "<i4";
  spec.typesize = 4;
  spec.chunk.filters = {test::Filter::shuffle};
  return spec;
}

struct Wide {
  explicit Wide(test::ArraySample made, std::uint64_t budget = kBudget)
      : Wide(std::move(made.data), build_frame(made.frame).bytes, budget) {}
  Wide(test::Bytes array, test::Bytes frame, std::uint64_t budget)
      : data(std::move(array)),
        mount(budget),
        source(std::make_shared<const test::SharedSource>(std::move(frame))),
        view(mount.open(source), ArrayView::Header::none, budget) {}

  // Reads all of the array in order.  Oracle: the original array.
  void stream(std::uint64_t piece, Access access) {
    for (std::uint64_t offset = 0; offset < data.size(); offset += piece) {
      const auto size = std::min(piece, data.size() - offset);
      const auto got = read(view, offset, size, access);
      REQUIRE(got);
      REQUIRE(std::ranges::equal(*got, std::span(data).subspan(offset, size)));
      CHECK(mount.cache().held_bytes() <= mount.budget());
    }
  }
  [[nodiscard]] std::uint64_t bytes_read() const {
    std::uint64_t sum = 0;
    for (const auto& one : source->take_reads()) sum += one.size;
    return sum;
  }

  const test::Bytes data;
  test::ViewMount mount;
  std::shared_ptr<const test::SharedSource> source;
  const ArrayView view;
};

// Oracle: the recorded reads, compared with those of a budget that fits a band.
TEST_CASE("wide_array: a streaming reader decodes each block once for each part",
          "[fs][wide_array][unit]") {
  const auto sample = test::array_sample(wide_spec(), 1);
  Wide roomy(sample, 1u << 20);
  roomy.stream(kRow, Access::streaming);
  const auto once = roomy.bytes_read();
  Wide wide(sample);
  wide.stream(kRow, Access::streaming);
  const auto streamed = wide.bytes_read();
  CHECK(streamed < 3 * once);
  // Without a stream, the blocks are decoded again for each row.
  Wide rows(sample);
  rows.stream(kRow, Access::sequential);
  CHECK(rows.bytes_read() > 2 * streamed);
  // Pieces that cross rows, parts and bands.
  Wide odd(sample);
  odd.stream(7777, Access::streaming);
  CHECK(odd.mount.lines().empty());
}

TEST_CASE("wide_array: chunks of all kinds", "[fs][wide_array][unit]") {
  for (const bool delta : {false, true}) {
    auto spec = wide_spec();
    if (delta) spec.chunk.filters.insert(spec.chunk.filters.begin(), test::Filter::delta);
    auto sample = test::array_sample(spec, 1);
    const auto nbytes = sample.frame.chunksize;
    const test::Bytes zero(1);
    test::replace_chunk(sample, 3, test::index_only_chunk(test::SpecialKind::zero, nbytes), zero);
    const auto value = test::noise(4, 9);
    test::replace_chunk(
        sample, 12,
        {.stored = test::build_special_chunk(test::SpecialKind::value, nbytes, 4, value),
         .special = std::nullopt,
         .nbytes = nbytes},
        value);
    test::ChunkSpec plain;
    plain.codec = test::Codec::memcpy;
    plain.blocksize = sample.frame.blocksize;
    sample.frame.chunks[5] = test::stored_chunk(test::cut_array(spec, sample.data)[5], plain);
    Wide wide(sample);
    wide.stream(5000, Access::streaming);
    CHECK(wide.mount.lines().empty());
  }
}

// A reader that jumps to the end of a part does not decode all of it.
TEST_CASE("wide_array: the end of a part is not worth the part", "[fs][wide_array][unit]") {
  Wide wide(test::array_sample(wide_spec(), 1));
  REQUIRE(read(wide.view, kPart - 100, 100, Access::streaming));
  wide.source->take_reads();
  REQUIRE(read(wide.view, 0, 100, Access::streaming));
  CHECK(wide.bytes_read() > 0);
  // Now the part is there.
  REQUIRE(read(wide.view, kPart - kRow, kRow, Access::streaming));
  CHECK(wide.bytes_read() == 0);
}

// Oracle: the undamaged array.
TEST_CASE("wide_array: a damaged block spoils its own rows, and its part is not tried again",
          "[fs][wide_array][corrupt]") {
  auto sample = test::array_sample(wide_spec(), 1);
  auto built = build_frame(sample.frame);
  // Block 0 of chunk 2 (items 200 to 249 of the first 16 rows) starts before the block area.
  test::put_le<std::int32_t>(built.bytes, built.chunk_at[2] + 32, 1);
  Wide wide(std::move(sample.data), std::move(built.bytes), kBudget);
  for (int again = 0; again < 2; ++again) {
    for (std::uint64_t offset = 0; offset < wide.data.size(); offset += 200) {
      CAPTURE(offset);
      const auto got = read(wide.view, offset, 200, Access::streaming);
      const bool is_spoilt = offset < kBand && offset % kRow == 800;
      REQUIRE(got.has_value() != is_spoilt);
      if (got) CHECK(std::ranges::equal(*got, std::span(wide.data).subspan(offset, 200)));
    }
  }
  REQUIRE(wide.mount.lines().size() == 1);
  CHECK(wide.mount.lines()[0].starts_with("error: the frame: chunk 2: "));
}

TEST_CASE("wide_array: a request that may do no more work does not spoil the part",
          "[fs][wide_array][unit]") {
  Wide wide(test::array_sample(wide_spec(), 1));
  {
    codec::WorkBudget budget(kBand / 2, [] { return true; });
    const codec::WorkScope scope(&budget);
    const auto got = read(wide.view, 0, kRow, Access::streaming);
    REQUIRE_FALSE(got);
    CHECK(codec::is_work_error(got.error()));
  }
  wide.stream(kRow, Access::streaming);
  CHECK(wide.mount.cache().held_bytes() <= kBudget);
}

// Oracle: the original array.  The budget admits one part at a time.
TEST_CASE("wide_array: threads that stream the same parts all get them", "[fs][wide_array][race]") {
  Wide wide(test::array_sample(wide_spec(), 1));
  std::vector<int> wrong(4);
  test::on_threads(wrong.size(), [&](std::size_t thread) {
    for (std::uint64_t i = 0; i < 200; ++i) {
      const auto offset = (i * 1500 + thread * 500) % (wide.data.size() - kRow);
      const auto access = i % 5 == 0 ? Access::random : Access::streaming;
      const auto got = read(wide.view, offset, kRow, access);
      if (!got || !std::ranges::equal(*got, std::span(wide.data).subspan(offset, kRow))) {
        ++wrong[thread];
      }
    }
  });
  CHECK(wrong == std::vector<int>(4));
}

}  // namespace
}  // namespace framefs::fs::wide_array_test
