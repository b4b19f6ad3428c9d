#include "fs/source/frame_summary.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/array_builder.h"
#include "tests/support/array_metalayer.h"
#include "tests/support/beta_frame_builder.h"
#include "tests/support/catch.h"
#include "tests/support/sample_data.h"
#include "tests/support/source_doubles.h"
#include "tests/support/sparse_frame_builder.h"
#include "tests/unit/fs/small_frames.h"

namespace framefs::fs::frame_summary_test {
namespace {

using test::Bytes;

constexpr codec::Limits kLimits{};

FrameSummary summary_of(const Bytes& bytes, Expected expected) {
  return summarise(codec::MemorySource(bytes), expected, kLimits);
}

Content content_of(const Bytes& bytes, Expected expected) {
  return summary_of(bytes, expected).content;
}

TEST_CASE("frame_summary: a frame's sizes are in its header", "[fs][frame_summary][unit]") {
  const auto summary = summary_of(test::small_frame(2500), Expected::frame);
  CHECK(summary.content == Content::frame);
  CHECK_FALSE(summary.is_sparse);
  CHECK_FALSE(summary.is_numpy);
  CHECK(summary.nbytes == 2500);
  CHECK(summary.chunksize == 1000);
  CHECK(summary.stored_bytes == 0);
}

TEST_CASE("frame_summary: chunks that vary have no size to show", "[fs][frame_summary][unit]") {
  test::FrameSpec spec;
  spec.chunks = {test::stored_chunk(test::noise(100, 1), {}),
                 test::stored_chunk(test::noise(8, 1), {})};
  const auto summary = summary_of(build_frame(spec).bytes, Expected::frame);
  CHECK(summary.nbytes == 108);
  CHECK(summary.chunksize == 0);
}

TEST_CASE("frame_summary: a frame of the betas is a frame", "[fs][frame_summary][unit]") {
  auto spec = test::small_frame_spec(2500);
  const auto summary = summary_of(test::build_beta_frame(spec).bytes, Expected::frame);
  CHECK(summary.content == Content::frame);
  CHECK(summary.nbytes == 2500);
  CHECK(summary.chunksize == 1000);
  // Frames of older formats are frames of unknown size.
  auto older = test::small_frame(2500);
  older[0] = std::byte{0x9c};
  CHECK(content_of(older, Expected::frame) == Content::frame);
  CHECK(summary_of(older, Expected::frame).nbytes == 0);
}

TEST_CASE("frame_summary: the index of a sparse frame says so", "[fs][frame_summary][unit]") {
  auto built = test::small_sparse_frame(2500);
  std::uint64_t stored = built.index_file.size();
  for (const auto& [id, chunk] : built.chunks) stored += chunk.size();
  const auto summary = summary_of(built.index_file, Expected::frame);
  CHECK(summary.content == Content::frame);
  CHECK(summary.is_sparse);
  CHECK(summary.nbytes == 2500);
  CHECK(summary.stored_bytes == stored);
  // The sum must not overflow, whatever the header claims.
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  test::put_be(built.index_file, 16, kMax);
  test::put_be(built.index_file, 39, kMax);
  CHECK(summary_of(built.index_file, Expected::frame).stored_bytes == 2 * std::uint64_t{kMax});
}

// Oracle: sizes computed by hand.
TEST_CASE("frame_summary: an array has the bytes of its items", "[fs][frame_summary][unit]") {
  const auto array = summary_of(test::small_array(700), Expected::array);
  CHECK(array.content == Content::array);
  CHECK(array.is_numpy);
  CHECK(array.nbytes == 3 * 1200);
  CHECK(array.chunksize == 1200);
  CHECK(array.array_bytes == 2800);
  CHECK(array.npy_bytes == 128);
  const auto opaque = summary_of(test::small_opaque_array(700), Expected::array);
  CHECK(opaque.content == Content::array);
  CHECK_FALSE(opaque.is_numpy);
  CHECK(opaque.array_bytes == 2800);
  CHECK(opaque.npy_bytes == 0);
  const auto sparse = summary_of(test::build_sparse_frame(test::small_array_frame(700)).index_file,
                                 Expected::array);
  CHECK(sparse.content == Content::array);
  CHECK(sparse.is_sparse);
  CHECK(sparse.array_bytes == 2800);
}

TEST_CASE("frame_summary: the array of another library's metalayer is one, too",
          "[fs][frame_summary][unit]") {
  auto spec = test::small_array_frame(700);
  spec.metalayers = {
      {.name = "caterva",
       .content = test::caterva_metalayer(
           {.shape = {700}, .chunkshape = {250}, .blockshape = {100}, .dtype = ""})}};
  const auto summary = summary_of(build_frame(spec).bytes, Expected::array);
  CHECK(summary.content == Content::array);
  CHECK(summary.array_bytes == 2800);
}

TEST_CASE("frame_summary: an array of no items has no bytes but a header",
          "[fs][frame_summary][unit]") {
  const test::ArraySpec spec{.shape = {3, 0},
                             .chunkshape = {2, 2},
                             .blockshape = {1, 2},
                             .dtype = "<f8",
                             .typesize = 8,
                             .chunk = {}};
  const auto summary = summary_of(build_frame(array_frame(spec, {})).bytes, Expected::array);
  CHECK(summary.content == Content::array);
  CHECK(summary.array_bytes == 0);
  CHECK(summary.npy_bytes > 0);
}

TEST_CASE("frame_summary: a frame where an array was expected is a frame",
          "[fs][frame_summary][unit]") {
  CHECK(content_of(test::small_frame(100), Expected::array) == Content::frame);
  auto spec = test::small_frame_spec(100);
  spec.metalayers = {{.name = "b2nd2", .content = test::counting(9)}};
  CHECK(content_of(build_frame(spec).bytes, Expected::array) == Content::frame);
}

// Reads of such an array fail; a summary keeps its kind and the size of its chunks.
TEST_CASE("frame_summary: an array whose metalayer is damaged stays an array",
          "[fs][frame_summary][corrupt]") {
  const auto good = test::small_array_frame(700);
  const auto with = [&](const Bytes& content) {
    auto spec = good;
    spec.metalayers[0].content = content;
    return summary_of(build_frame(spec).bytes, Expected::array);
  };
  std::vector<Bytes> bad;
  bad.emplace_back();
  for (std::size_t n = 1; n < good.metalayers[0].content.size() - 9; ++n) {
    bad.emplace_back(good.metalayers[0].content.begin(),
                     good.metalayers[0].content.begin() + static_cast<std::ptrdiff_t>(n));
  }
  bad.push_back(test::array_metalayer({.shape = {700}, .chunkshape = {250}, .blockshape = {99}}));
  bad.push_back(
      test::array_metalayer({.shape = {99999}, .chunkshape = {250}, .blockshape = {100}}));
  bad.push_back(test::array_metalayer({.shape = {-1}, .chunkshape = {250}, .blockshape = {100}}));
  bad.push_back(test::array_metalayer({.shape = {700}, .chunkshape = {0}, .blockshape = {0}}));
  for (const auto& content : bad) {
    CAPTURE(content.size());
    const auto summary = with(content);
    CHECK(summary.content == Content::array);
    CHECK_FALSE(summary.is_numpy);
    CHECK(summary.array_bytes == 3600);
    CHECK(summary.npy_bytes == 0);
  }
}

// Oracle: bytes 2 to 9 are the magic.  A shorter file is not a frame, unless it is empty; a longer
// one is, even if damaged.
TEST_CASE("frame_summary: a frame that was cut short stays a frame",
          "[fs][frame_summary][corrupt]") {
  const auto frame = test::small_array(100);
  for (std::size_t size = 0; size <= frame.size(); ++size) {
    CAPTURE(size);
    const Bytes cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK((content_of(cut, Expected::frame) == Content::frame) == (size >= 10 || size == 0));
    const auto array = summary_of(cut, Expected::array);
    CHECK((array.content == Content::other) == (size < 10));
    if (size >= 87) CHECK(array.nbytes == 1200);
  }
}

TEST_CASE("frame_summary: only the expected content is looked for", "[fs][frame_summary][unit]") {
  const auto array = test::small_array(10);
  auto container_spec = test::small_frame_spec(100);
  container_spec.metalayers = {{.name = "b2embed", .content = test::counting(3)}};
  const auto container = build_frame(container_spec).bytes;
  const auto zip = test::text_bytes("PK\x03\x04 and more");
  const auto empty_zip = test::text_bytes(std::string_view("PK\x05\x06\0\0", 6));
  const auto text = test::text_bytes("neither of them, but of some length, which is no matter");
  struct Row {
    const Bytes& bytes;
    Expected expected;
    Content content;
  };
  for (const auto& row :
       {Row{array, Expected::nothing, Content::other}, Row{array, Expected::frame, Content::frame},
        Row{array, Expected::array, Content::array},
        Row{array, Expected::embed_container, Content::frame},
        Row{array, Expected::zip_container, Content::other},
        Row{container, Expected::frame, Content::frame},
        Row{container, Expected::array, Content::frame},
        Row{container, Expected::embed_container, Content::embed_container},
        Row{zip, Expected::zip_container, Content::zip_container},
        Row{zip, Expected::frame, Content::other},
        Row{empty_zip, Expected::zip_container, Content::zip_container},
        Row{text, Expected::frame, Content::other}, Row{text, Expected::array, Content::other},
        Row{text, Expected::embed_container, Content::other},
        Row{text, Expected::zip_container, Content::other},
        Row{Bytes{}, Expected::zip_container, Content::other}}) {
    CAPTURE(row.bytes.size(), static_cast<int>(row.expected));
    CHECK(content_of(row.bytes, row.expected) == row.content);
  }
}

// A listing makes one summary per frame, so a summary must not read the chunks.
TEST_CASE("frame_summary: nothing is read but the header", "[fs][frame_summary][unit]") {
  const auto built = build_frame(test::small_array_frame(700));
  const codec::MemorySource memory(built.bytes);
  const test::RecordingSource source(memory);
  static_cast<void>(summarise(source, Expected::frame, kLimits));
  CHECK(source.stayed_within(std::vector<codec::ByteRange>{{0, 87}}));
  static_cast<void>(summarise(source, Expected::array, kLimits));
  CHECK(source.stayed_within(std::vector<codec::ByteRange>{{0, built.header_bytes}}));
}

// Oracle: no read exceeds the limit, so the reader did not allocate more.
TEST_CASE("frame_summary: a header above the limit is not looked into",
          "[fs][frame_summary][corrupt]") {
  auto head = test::small_array(10);
  test::put_be(head, 11, std::numeric_limits<std::int32_t>::max());
  test::put_be(head, 16, std::numeric_limits<std::int64_t>::max());
  const test::VastSource vast(head, std::uint64_t{1} << 62);
  const auto summary = summarise(vast, Expected::array, kLimits);
  CHECK(summary.content == Content::frame);
  CHECK(summary.nbytes == 1200);
  CHECK(vast.largest_read() == 87);
}

TEST_CASE("frame_summary: a file that cannot be read is nothing special",
          "[fs][frame_summary][corrupt]") {
  const auto bytes = test::small_array(10);
  const codec::MemorySource memory(bytes);
  CHECK(summarise(test::FailingSource(memory, 1), Expected::array, kLimits).content ==
        Content::other);
  // The header can be read, but its metalayers cannot.
  CHECK(summarise(test::FailingSource(memory, 2), Expected::array, kLimits).content ==
        Content::frame);
}

}  // namespace
}  // namespace framefs::fs::frame_summary_test
