#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "codec/array/array_layout.h"
#include "codec/array/array_meta.h"
#include "codec/array/run_cursor.h"
#include "codec/frame/frame_array.h"
#include "tests/conformance/frame_fixture.h"
#include "tests/conformance/manifest.h"
#include "tests/conformance/verdict.h"
#include "tests/support/array_builder.h"
#include "tests/support/catch.h"
#include "tests/support/sha256.h"

namespace framefs::test::array_conformance_test {
namespace {

using codec::ArrayLayout;
using codec::ArrayMeta;
using codec::Result;

struct Array {
  ArrayMeta meta;
  ArrayLayout layout;
};

Result<Array> open_array(const FrameFixture& fixture) {
  const auto& frame = fixture.frame();
  if (!frame) return std::unexpected(frame.error());
  if (!frame->array()) return codec::fail(codec::Errc::bad_field, "array metalayer");
  FRAMEFS_TRY(const auto meta, *frame->array());
  FRAMEFS_TRY(const auto layout, codec::layout_of(meta, frame->header()));
  return Array{meta, layout};
}

// Reads the bytes of the array in C order, run by run.
Result<Bytes> read_array(const FrameFixture& fixture, const ArrayLayout& layout) {
  Bytes out(layout.nbytes());
  codec::FrameReader reader = fixture.reader();
  codec::RunCursor cursor(layout, {0, out.size()});
  std::uint64_t end = 0;
  while (cursor.next()) {
    const auto& run = cursor.run();
    REQUIRE(run.offset == end);  // runs are contiguous
    end += run.size;
    const auto at = run.chunk.value * fixture.frame()->header().chunksize +
                    run.block.value * layout.block_bytes() + run.within;
    FRAMEFS_CHECK(reader.read(at, std::span(out).subspan(run.offset, run.size)));
  }
  REQUIRE(end == out.size());
  return out;
}

void check_meta(const ExpectedArray& expected, const ArrayMeta& meta) {
  CHECK(std::ranges::equal(meta.array_dims(), expected.shape));
  CHECK(std::ranges::equal(meta.chunk_dims(), expected.chunkshape));
  CHECK(std::ranges::equal(meta.block_dims(), expected.blockshape));
  CHECK(meta.dtype == expected.dtype);
  CHECK(int{meta.dtype_format} == expected.dtype_format);
}

// Oracle: items copied one by one from the frame's decoded bytes, with the formula of the format.
void check_against_chunks(const ExpectedArray& expected, const FrameFixture& fixture,
                          const Bytes& got) {
  Bytes whole(fixture.frame()->nbytes());
  REQUIRE(fixture.reader().read(0, whole));
  const ArraySpec spec{.shape = expected.shape,
                       .chunkshape = expected.chunkshape,
                       .blockshape = expected.blockshape,
                       .dtype = expected.dtype,
                       .typesize = fixture.frame()->header().typesize,
                       .chunk = {}};
  CHECK(got == gather_array(spec, whole));
}

TEST_CASE("array: arrays read in C order as the manifest says", "[codec][array][conformance]") {
  Tally tally;
  for (const ManifestEntry& entry : load_manifest(fixtures_folder())) {
    if (!entry.array || entry.array_is_damaged) continue;
    INFO(entry.path);
    const FrameFixture fixture(entry);
    const auto array = open_array(fixture);
    INFO((array ? "" : describe(array.error())));
    REQUIRE(array);
    check_meta(*entry.array, array->meta);
    if (entry.do_not_decode_whole) continue;
    const auto bytes = read_array(fixture, array->layout);
    if (!bytes && entry.lacks_codec) {
      CHECK(bytes.error().kind == codec::Errc::unsupported);
      ++tally.deferred;
      continue;
    }
    INFO((bytes ? "" : describe(bytes.error())));
    REQUIRE(bytes);
    if (!entry.array->sha256.empty()) CHECK(sha256_hex(*bytes) == entry.array->sha256);
    check_against_chunks(*entry.array, fixture, *bytes);
    ++tally.decoded;
  }
  CHECK(tally.decoded > 0);
  std::cout << "arrays: " << tally << '\n';
}

// The chunks of these arrays are intact: as frames they are read by the test cases above.
TEST_CASE("array: arrays that are damaged are refused, though their frames read",
          "[codec][array][conformance]") {
  Tally tally;
  for (const ManifestEntry& entry : load_manifest(fixtures_folder())) {
    if (!entry.array_is_damaged) continue;
    INFO(entry.path << ": " << entry.what);
    const FrameFixture fixture(entry);
    REQUIRE(fixture.frame());
    const auto array = open_array(fixture);
    REQUIRE_FALSE(array);
    CHECK(array.error().kind != codec::Errc::internal);
    CHECK(array.error().kind != codec::Errc::system);
    ++tally.refused;
  }
  CHECK(tally.refused > 0);
  std::cout << "damaged arrays: " << tally << '\n';
}

}  // namespace
}  // namespace framefs::test::array_conformance_test
