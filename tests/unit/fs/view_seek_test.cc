// The holes of views.  Oracle: for every byte, whether it is in a hole.

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "fs/view/array_view.h"
#include "fs/view/frame_view.h"
#include "tests/support/array_metalayer.h"
#include "tests/support/catch.h"
#include "tests/support/random_seed.h"
#include "tests/unit/fs/array_samples.h"
#include "tests/unit/fs/view_mount.h"

namespace framefs::fs::view_seek_test {
namespace {

using test::Bytes;
using test::SpecialKind;

// The expected result of lseek().  Source: lseek(2).  The end of a file is a hole.  Offsets at or
// after the end, and searches for data after the last data, give ENXIO.
std::optional<std::uint64_t> found_by_walk(const std::vector<bool>& holes, Seek what,
                                           std::uint64_t offset) {
  if (offset >= holes.size()) return std::nullopt;
  while (offset < holes.size() && holes[offset] != (what == Seek::hole)) ++offset;
  if (offset == holes.size() && what == Seek::data) return std::nullopt;
  return offset;
}

void check_seek(const View& view, const std::vector<bool>& holes, std::uint64_t offset) {
  for (const auto what : {Seek::data, Seek::hole}) {
    CAPTURE(offset, what == Seek::data);
    const auto got = view.seek(what, offset);
    const auto expected = found_by_walk(holes, what, offset);
    REQUIRE(got.has_value() == expected.has_value());
    if (got) REQUIRE(*got == *expected);
    if (!got) REQUIRE(got.error().sys == ENXIO);
  }
}

void check_all(const View& view, const std::vector<bool>& holes, std::mt19937& random) {
  for (int i = 0; i < 200; ++i) {
    check_seek(view, holes, holes.empty() ? 0 : random() % (holes.size() + 3));
  }
  for (const std::uint64_t offset :
       {std::uint64_t{0}, std::uint64_t{holes.size()}, std::uint64_t{holes.size()} + 1,
        std::numeric_limits<std::uint64_t>::max()}) {
    check_seek(view, holes, offset);
  }
  if (!holes.empty()) check_seek(view, holes, holes.size() - 1);
}

// A frame of 100-byte chunks; the last one has 40 bytes.  Chunks of kind zero or uninit are holes.
test::FrameSpec frame_of(const std::vector<std::optional<SpecialKind>>& kinds) {
  test::FrameSpec spec;
  spec.chunksize = 100;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::uint32_t size = i + 1 == kinds.size() ? 40 : 100;
    spec.chunks.push_back(kinds[i] ? test::index_only_chunk(*kinds[i], size)
                                   : test::stored_chunk(Bytes(size), {}));
  }
  return spec;
}

std::vector<bool> holes_of(const std::vector<std::optional<SpecialKind>>& kinds) {
  std::vector<bool> holes;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const bool is_hole = kinds[i] == SpecialKind::zero || kinds[i] == SpecialKind::uninit;
    holes.insert(holes.end(), i + 1 == kinds.size() ? 40 : 100, is_hole);
  }
  return holes;
}

TEST_CASE("frame_view: holes are the chunks that the index says are zero",
          "[fs][frame_view][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::optional<SpecialKind>> kinds;
    const auto mostly_holes = random() % 2 == 0;
    for (auto left = random() % 30 + 1; left > 0; --left) {
      switch (random() % (mostly_holes ? 8 : 4)) {
        case 0:
          kinds.emplace_back(std::nullopt);  // stored, although all its bytes are zero
          break;
        case 1:
          kinds.emplace_back(SpecialKind::nan);
          break;
        case 2:
          kinds.emplace_back(SpecialKind::uninit);
          break;
        default:
          kinds.emplace_back(SpecialKind::zero);
      }
    }
    test::ViewMount mount;
    const FrameView view(mount.open(build_frame(frame_of(kinds)).bytes));
    check_all(view, holes_of(kinds), random);
  }
}

TEST_CASE("frame_view: a cache of remote data has no holes", "[fs][frame_view][unit]") {
  auto spec = frame_of({SpecialKind::uninit, SpecialKind::zero, SpecialKind::uninit});
  spec.metalayers = {{.name = "proxy-source", .content = {}}};
  test::ViewMount mount;
  const FrameView view(mount.open(build_frame(spec).bytes));
  CHECK(view.seek(Seek::hole, 0).value() == view.decoded_bytes());
  CHECK(view.seek(Seek::data, 100).value() == 100);
}

TEST_CASE("frame_view: chunks of varying size have no holes", "[fs][frame_view][unit]") {
  test::FrameSpec spec;
  spec.chunks = {test::stored_chunk(test::noise(100, 1), {}), test::stored_chunk(Bytes(70), {})};
  std::mt19937 random(1);
  test::ViewMount mount;
  const FrameView view(mount.open(build_frame(spec).bytes));
  check_all(view, std::vector<bool>(170), random);
}

TEST_CASE("frame_view: an empty frame has neither data nor holes", "[fs][frame_view][unit]") {
  test::ViewMount mount;
  const FrameView view(mount.open(test::build_frame({}).bytes));
  for (const std::uint64_t offset : {0U, 1U}) {
    CHECK(view.seek(Seek::data, offset).error().sys == ENXIO);
    CHECK(view.seek(Seek::hole, offset).error().sys == ENXIO);
  }
}

TEST_CASE("frame_view: seeking in a frame that cannot be read fails with the reason",
          "[fs][frame_view][corrupt]") {
  auto cut = build_frame(frame_of({SpecialKind::zero, std::nullopt})).bytes;
  cut.pop_back();
  test::ViewMount mount;
  const FrameView closed(mount.open(cut));
  CHECK(closed.seek(Seek::data, 0).error().kind == Errc::truncated);
  auto spec = frame_of({SpecialKind::zero, std::nullopt});
  spec.index = test::IndexForm::zstd;
  auto built = build_frame(spec);
  test::put_le<std::int32_t>(built.bytes, built.index_at + 32, 1);  // start of its block
  const FrameView damaged(mount.open(built.bytes));
  CHECK(damaged.seek(Seek::hole, 0).error().kind == Errc::bad_field);
}

// Oracle: passing a hole of 4 TiB reads only its index.
TEST_CASE("frame_view: a vast hole is passed at once", "[fs][frame_view][unit]") {
  constexpr std::uint32_t kChunk = 1u << 30;
  test::FrameSpec spec;
  spec.chunksize = kChunk;
  spec.chunks.assign(4096, test::index_only_chunk(SpecialKind::zero, kChunk));
  spec.index = test::IndexForm::value;
  const auto source = std::make_shared<const test::SharedSource>(build_frame(spec).bytes);
  test::ViewMount mount;
  const FrameView view(mount.open(source));
  CHECK(view.seek(Seek::hole, 12345).value() == 12345);
  CHECK(view.seek(Seek::data, 12345).error().sys == ENXIO);
  CHECK(mount.cache().held_bytes() < 1u << 20);
}

TEST_CASE("array_view: holes are the bytes of chunks that the index says are zero",
          "[fs][array_view][unit][long]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 120; ++round) {
    auto sample = test::random_array_sample(random);
    if (round % 3 == 0) {
      // Long holes.
      for (std::size_t i = 0; i < sample.frame.chunks.size(); ++i) {
        if (random() % 5 == 0) continue;
        replace_chunk(sample, i, test::index_only_chunk(SpecialKind::zero, sample.frame.chunksize),
                      Bytes(1));
      }
    }
    CAPTURE(round, sample.spec.typesize, sample.spec.shape, sample.spec.chunkshape,
            sample.spec.blockshape);
    test::ViewMount mount;
    const auto frame = mount.open(build_frame(sample.frame).bytes);
    check_all(ArrayView(frame, ArrayView::Header::none, mount.budget()), sample.zeros, random);
    const ArrayView npy(frame, ArrayView::Header::npy, mount.budget());
    std::vector<bool> holes(npy.header().size());
    holes.insert(holes.end(), sample.zeros.begin(), sample.zeros.end());
    check_all(npy, holes, random);
  }
}

TEST_CASE("array_view: an array of no items has neither data nor holes but its header",
          "[fs][array_view][unit]") {
  const test::ArraySpec spec{.shape = {0, 4},
                             .chunkshape = {2, 2},
                             .blockshape = {1, 2},
                             .dtype = "<i4",
                             .typesize = 4,
                             .chunk = {}};
  test::ViewMount mount;
  std::mt19937 random(1);
  const auto frame = mount.open(build_frame(array_frame(spec, {})).bytes);
  check_all(ArrayView(frame, ArrayView::Header::none, mount.budget()), {}, random);
  check_all(ArrayView(frame, ArrayView::Header::npy, mount.budget()), std::vector<bool>(128),
            random);
}

// 2^40 bytes of zeros must be passed in a few steps.  Oracle: the test ends.
TEST_CASE("array_view: a vast array of zeros is one hole", "[fs][array_view][unit]") {
  test::FrameSpec spec;
  constexpr std::uint32_t kSide = 1u << 20;
  constexpr std::uint32_t kChunkSide = 1u << 14;
  spec.typesize = 1;
  spec.chunksize = kChunkSide * kChunkSide;
  spec.blocksize = 1u << 20;
  const std::size_t chunks = std::size_t{kSide / kChunkSide} * (kSide / kChunkSide);
  spec.chunks.assign(chunks, test::index_only_chunk(SpecialKind::zero, spec.chunksize));
  spec.index = test::IndexForm::value;
  spec.metalayers = {{.name = "b2nd",
                      .content = test::array_metalayer({.shape = {kSide, kSide},
                                                        .chunkshape = {kChunkSide, kChunkSide},
                                                        .blockshape = {1024, 1024},
                                                        .dtype = "|u1"})}};
  test::ViewMount mount;
  const ArrayView view(mount.open(build_frame(spec).bytes), ArrayView::Header::npy, mount.budget());
  CHECK(view.seek(Seek::hole, 0).value() == 128);
  CHECK(view.seek(Seek::data, 0).value() == 0);
  CHECK(view.seek(Seek::data, 128).error().sys == ENXIO);
  CHECK(view.seek(Seek::hole, (std::uint64_t{1} << 40) + 127).value() ==
        (std::uint64_t{1} << 40) + 127);
}

}  // namespace
}  // namespace framefs::fs::view_seek_test
