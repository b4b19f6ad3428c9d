#include "fs/source/decoded_source.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "codec/frame/frame_array.h"
#include "codec/frame/frame_reader.h"
#include "tests/support/catch.h"
#include "tests/support/outcome.h"
#include "tests/support/random_seed.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/array_samples.h"
#include "tests/unit/fs/shared_source.h"
#include "tests/unit/fs/small_frames.h"

namespace framefs::fs::decoded_source_test {
namespace {

using codec::Errc;
using codec::Result;
using test::Bytes;
using test::outcome;

constexpr codec::Limits kLimits{};

// A source with the decoded bytes of the frame, or of the array in it.
std::shared_ptr<const DecodedSource> decoded(Bytes bytes, bool as_array = false) {
  auto source = std::make_shared<const test::SharedSource>(std::move(bytes));
  auto frame = codec::Frame::open(*source, kLimits);
  REQUIRE(frame);
  std::optional<codec::ArrayLayout> layout;
  if (as_array) {
    const auto meta = frame->array().value().value();
    layout = codec::layout_of(meta, frame->header()).value();
  }
  return std::make_shared<const DecodedSource>(
      source, std::make_shared<const codec::Frame>(std::move(*frame)), layout, kLimits);
}

Result<Bytes> read(const codec::ByteSource& source, std::uint64_t offset, std::size_t size) {
  Bytes out(size);
  FRAMEFS_CHECK(source.read_at(offset, out));
  return out;
}

void check_ranges(const codec::ByteSource& source, const Bytes& whole, std::mt19937& random) {
  CHECK(source.size().value() == whole.size());
  for (int i = 0; i < 50 && !whole.empty(); ++i) {
    const std::size_t offset = random() % whole.size();
    const std::size_t size = random() % (whole.size() - offset) + 1;
    CAPTURE(offset, size);
    const auto got = read(source, offset, size);
    REQUIRE(got);
    REQUIRE(std::ranges::equal(*got, std::span(whole).subspan(offset, size)));
  }
  const auto end = whole.size();
  CHECK(read(source, end, 0).has_value());
  for (const auto& [offset, size] : {std::pair<std::uint64_t, std::size_t>{end, 1},
                                     {end + 1, 0},
                                     {0, end + 1},
                                     {std::numeric_limits<std::uint64_t>::max(), 1}}) {
    CAPTURE(offset, size);
    CHECK(outcome(read(source, offset, size)) ==
          "truncated: decoded bytes at " + std::to_string(offset));
  }
}

TEST_CASE("decoded_source: a frame's bytes are a source", "[fs][decoded_source][unit]") {
  std::mt19937 random(1);
  check_ranges(*decoded(test::small_frame(5500, 2)), test::noise(5500, 2), random);
  check_ranges(*decoded(test::small_frame(0)), {}, random);
}

TEST_CASE("decoded_source: so are an array's, in C order", "[fs][decoded_source][unit][long]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 30; ++round) {
    const auto sample = test::random_array_sample(random);
    CAPTURE(round, sample.spec.shape, sample.spec.chunkshape, sample.spec.blockshape);
    check_ranges(*decoded(build_frame(sample.frame).bytes, true), sample.data, random);
  }
}

TEST_CASE("decoded_source: a frame in a frame in a frame is read", "[fs][decoded_source][unit]") {
  const auto inner = test::small_frame(2500, 7);
  Bytes middle = test::noise(301, 1);
  test::append(middle, inner);
  const auto wrap = [](const Bytes& bytes) {
    test::FrameSpec spec;
    spec.chunksize = 700;
    for (std::size_t at = 0; at < bytes.size(); at += 700) {
      const auto piece =
          std::span(bytes).subspan(at, std::min<std::size_t>(700, bytes.size() - at));
      spec.chunks.push_back(test::stored_chunk(piece, {}));
    }
    return build_frame(spec).bytes;
  };
  const auto outer = decoded(wrap(middle));
  const codec::ByteWindow window(*outer, 301, inner.size());
  const auto frame = codec::Frame::open(window, kLimits);
  REQUIRE(frame);
  Bytes out(2500);
  REQUIRE(codec::FrameReader(window, *frame, kLimits).read(0, out));
  CHECK(out == test::noise(2500, 7));
}

TEST_CASE("decoded_source: a damaged chunk spoils its own range", "[fs][decoded_source][corrupt]") {
  auto built = build_frame(test::small_frame_spec(3000));
  test::put_le<std::int32_t>(built.bytes, built.chunk_at[1] + 4, -1);
  const auto source = decoded(built.bytes);
  for (int again = 0; again < 2; ++again) {
    CHECK(read(*source, 0, 1000).has_value());
    CHECK(read(*source, 2000, 1000).has_value());
    CHECK(read(*source, 999, 2).error().kind == Errc::bad_field);
    CHECK(read(*source, 1500, 1).error().kind == Errc::bad_field);
  }
}

TEST_CASE("decoded_source: many threads read at a time", "[fs][decoded_source][race]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  const auto whole = test::noise(20'000, 3);
  const auto source = decoded(test::small_frame(20'000, 3));
  std::vector<int> wrong(8);
  test::on_threads(wrong.size(), [&](std::size_t thread) {
    std::mt19937 random(seed + static_cast<std::uint32_t>(thread));
    for (int round = 0; round < 100; ++round) {
      const std::size_t offset = random() % whole.size();
      const std::size_t size = random() % (whole.size() - offset) + 1;
      const auto got = read(*source, offset, size);
      if (!got || !std::ranges::equal(*got, std::span(whole).subspan(offset, size))) {
        ++wrong[thread];
      }
    }
  });
  CHECK(wrong == std::vector<int>(8));
}

}  // namespace
}  // namespace framefs::fs::decoded_source_test
