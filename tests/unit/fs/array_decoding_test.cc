// How often the blocks of an array are decoded.  A reader in C order returns to each block for each
// of its rows; with enough memory, no block is decoded twice.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "fs/view/array_view.h"
#include "tests/support/catch.h"
#include "tests/unit/fs/array_samples.h"
#include "tests/unit/fs/view_mount.h"

namespace framefs::fs::array_decoding_test {
namespace {

using test::ArraySpec;
using test::Bytes;
using test::SharedSource;

// Counts how often each block of a frame's chunks is read from its source, which happens once per
// decoding.
class DecodeCounter {
 public:
  explicit DecodeCounter(const ArraySpec& spec)
      : sample_(test::array_sample(spec, 1)), built_(build_frame(sample_.frame)) {
    source_ = std::make_shared<const SharedSource>(built_.bytes);
  }

  [[nodiscard]] const std::shared_ptr<const SharedSource>& source() const { return source_; }
  [[nodiscard]] const Bytes& data() const { return sample_.data; }

  // The counts since the last call, for every block of every chunk.
  [[nodiscard]] std::vector<int> take() const {
    const auto reads = source_->take_reads();
    std::vector<int> counts;
    for (const auto chunk_at : built_.chunk_at) {
      // Source: chunk format.  The block starts follow the header.
      const auto starts_at = chunk_at + 32;
      const auto first = start_at(starts_at);
      const auto blocks = (first - 32) / 4;
      for (std::uint64_t block = 0; block < blocks; ++block) {
        const auto at = chunk_at + start_at(starts_at + 4 * block);
        counts.push_back(static_cast<int>(std::ranges::count_if(reads, [&](const auto& read) {
          return read.offset >= chunk_at + first && read.offset <= at &&
                 at < read.offset + read.size;
        })));
      }
    }
    return counts;
  }

 private:
  [[nodiscard]] std::uint64_t start_at(std::uint64_t at) const {
    std::uint64_t start = 0;
    for (std::uint64_t i = 4; i-- > 0;) {
      start = start << 8 | std::to_integer<std::uint64_t>(built_.bytes[at + i]);
    }
    return start;
  }

  test::ArraySample sample_;
  test::BuiltFrame built_;
  std::shared_ptr<const SharedSource> source_;
};

// Reads everything, piece by piece.
void read_in_order(const ArrayView& view, const Bytes& data, std::uint64_t piece,
                   Access access = Access::streaming) {
  for (std::uint64_t offset = 0; offset < data.size(); offset += piece) {
    const auto got = test::read(view, offset, piece, access);
    REQUIRE(got);
    REQUIRE(std::ranges::equal(*got, std::span(data).subspan(offset, got->size())));
  }
}

// 64 rows of 64 KiB.  A band of 16 rows needs 64 blocks of 16 KiB.
const ArraySpec kPlane{.shape = {64, 8192},
                       .chunkshape = {32, 2048},
                       .blockshape = {16, 128},
                       .dtype = "<i8",
                       .typesize = 8,
                       .chunk = {}};
constexpr std::uint64_t kRowBytes = 64u << 10;
constexpr std::uint64_t kBandBytes = 16 * kRowBytes;

TEST_CASE("array_view: with room for a band, each block is decoded once",
          "[fs][array_view][unit]") {
  const DecodeCounter counter(kPlane);
  for (const std::uint64_t piece : {5000U, 65536U, 150'000U}) {
    CAPTURE(piece);
    test::ViewMount mount(4 * kBandBytes);
    const ArrayView view(mount.open(counter.source()), ArrayView::Header::none, mount.budget());
    read_in_order(view, counter.data(), piece);
    const auto counts = counter.take();
    CHECK(counts.size() == 256);
    CHECK(std::ranges::count(counts, 1) == 256);
  }
}

TEST_CASE("array_view: blocks that were decoded ahead are not decoded again",
          "[fs][array_view][unit]") {
  const DecodeCounter counter(kPlane);
  for (const auto header : {ArrayView::Header::none, ArrayView::Header::npy}) {
    test::ViewMount mount(4 * kBandBytes);
    const ArrayView view(mount.open(counter.source()), header, mount.budget());
    const auto begin = view.header().size();
    for (std::uint64_t offset = 0; offset < counter.data().size(); offset += kRowBytes) {
      const bool is_last = offset + kRowBytes >= counter.data().size();
      CHECK(view.decode_ahead({begin + offset + kRowBytes, 2 * kRowBytes}) == !is_last);
      const auto got = test::read(view, begin + offset, kRowBytes, Access::sequential);
      REQUIRE(got);
      REQUIRE(std::ranges::equal(*got, std::span(counter.data()).subspan(offset, kRowBytes)));
    }
    const auto counts = counter.take();
    CHECK(std::ranges::count(counts, 1) == static_cast<std::ptrdiff_t>(counts.size()));
    CHECK_FALSE(view.decode_ahead({begin + counter.data().size(), 1}));
  }
}

TEST_CASE("array_view: an array whose header is all that is read ahead decodes nothing",
          "[fs][array_view][unit]") {
  const DecodeCounter counter(kPlane);
  test::ViewMount mount(4 * kBandBytes);
  const ArrayView view(mount.open(counter.source()), ArrayView::Header::npy, mount.budget());
  CHECK(view.decode_ahead({0, view.header().size()}));
  const auto counts = counter.take();
  CHECK(std::ranges::count(counts, 0) == static_cast<std::ptrdiff_t>(counts.size()));
}

// Blocks take one step along some axes, before and after those that determine the band.
TEST_CASE("array_view: a band lies within the outermost axis along which blocks are divided",
          "[fs][array_view][unit]") {
  const ArraySpec spec{.shape = {4, 24, 20, 30},
                       .chunkshape = {2, 12, 10, 30},
                       .blockshape = {1, 6, 5, 10},
                       .dtype = "<i2",
                       .typesize = 2,
                       .chunk = {}};
  constexpr std::uint64_t kBand = 6 * 20 * 30 * 2;
  const DecodeCounter counter(spec);
  test::ViewMount mount(4 * kBand);
  const ArrayView view(mount.open(counter.source()), ArrayView::Header::none, mount.budget());
  read_in_order(view, counter.data(), 777);
  const auto counts = counter.take();
  CHECK(counts.size() == 4 * 4 * 4 * 3);
  CHECK(std::ranges::count(counts, 1) == static_cast<std::ptrdiff_t>(counts.size()));
}

// Oracle: a cache that kept the latest blocks would decode every block once per row.
TEST_CASE("array_view: with room for a part of a band, that part of it is not decoded again",
          "[fs][array_view][unit]") {
  const DecodeCounter counter(kPlane);
  test::ViewMount mount(kBandBytes);
  const ArrayView view(mount.open(counter.source()), ArrayView::Header::none, mount.budget());
  // Blocks that would evict blocks still needed are not decoded ahead.
  CHECK_FALSE(view.decode_ahead({0, kRowBytes}));
  read_in_order(view, counter.data(), kRowBytes, Access::sequential);
  const auto counts = counter.take();
  std::int64_t decodes = 0;
  for (const int count : counts) decodes += count;
  const std::int64_t rows = 16 * static_cast<std::int64_t>(counts.size());
  CAPTURE(decodes, rows);
  CHECK(decodes < rows * 3 / 4);
  // The first row takes a part of each block.
  CHECK(std::ranges::count(counts, 2) > static_cast<std::ptrdiff_t>(counts.size() / 4));
}

// Random readers leave blocks in the cache that are worth keeping.
TEST_CASE("array_view: a random reader finds the blocks that it came back to",
          "[fs][array_view][unit]") {
  const DecodeCounter counter(kPlane);
  test::ViewMount mount(kBandBytes);
  const ArrayView view(mount.open(counter.source()), ArrayView::Header::none, mount.budget());
  for (int again = 0; again < 5; ++again) {
    for (const std::uint64_t offset : {100U, 1'100'000U, 2'200'000U}) {
      REQUIRE(test::read(view, offset, 10, Access::random));
    }
  }
  const auto counts = counter.take();
  CHECK(std::ranges::count(counts, 2) == 3);  // first a part
  CHECK(std::ranges::count(counts, 0) == static_cast<std::ptrdiff_t>(counts.size()) - 3);
}

// Oracle: the data.
TEST_CASE("array_view: rows and planes here and there leave no blocks in the cache",
          "[fs][array_view][unit]") {
  const DecodeCounter counter(kPlane);
  test::ViewMount mount(4 * kBandBytes);
  const ArrayView view(mount.open(counter.source()), ArrayView::Header::none, mount.budget());
  for (std::uint64_t i = 0; i < 10; ++i) {
    const auto row = (5 + 17 * i) % 64;  // each in another band
    const auto offset = row * kRowBytes;
    const auto got = test::read(view, offset, kRowBytes, Access::random);
    REQUIRE(got);
    REQUIRE(std::ranges::equal(*got, std::span(counter.data()).subspan(offset, kRowBytes)));
  }
  CHECK(mount.cache().held_bytes() < 64 * 16384);
  // A slice of adjacent rows comes back to its blocks at once.
  static_cast<void>(counter.take());
  for (std::uint64_t row = 33; row < 48; ++row) {
    REQUIRE(test::read(view, row * kRowBytes, kRowBytes, Access::random));
  }
  const auto counts = counter.take();
  CHECK(*std::ranges::max_element(counts) <= 2);
}

// A block leaves the cache with the read of its last bytes.
TEST_CASE("array_view: a reader that has gone through leaves no blocks behind",
          "[fs][array_view][unit]") {
  const DecodeCounter counter(kPlane);
  test::ViewMount mount(4 * kBandBytes);
  const ArrayView view(mount.open(counter.source()), ArrayView::Header::none, mount.budget());
  read_in_order(view, counter.data(), kRowBytes);
  CHECK(mount.cache().held_bytes() < kBandBytes);
}

}  // namespace
}  // namespace framefs::fs::array_decoding_test
