// Frames that are cut, damaged, contradictory or unreadable.  See frame_test.cc for valid ones.

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "codec/frame/frame.h"
#include "codec/frame/frame_reader.h"
#include "codec/frame/metalayer_content.h"
#include "tests/support/catch.h"
#include "tests/support/damage.h"
#include "tests/support/frame_builder.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"
#include "tests/support/source_doubles.h"

namespace framefs::codec::frame_damage_test {
namespace {

using test::build_frame;
using test::BuiltFrame;
using test::Bytes;
using test::ChunkSpec;
using test::counting;
using test::FrameSpec;
using test::IndexForm;
using test::noise;
using test::outcome;
using test::put_be;
using test::put_le;
using test::ramp;
using test::SpecialKind;
using test::stored_chunk;

constexpr auto kInt64Max = std::numeric_limits<std::int64_t>::max();

Result<Frame> open_bytes(std::span<const std::byte> bytes, const Limits& limits = {}) {
  return Frame::open(MemorySource(bytes), limits);
}

// Three chunks, one of which is only an index entry, and one metalayer of each kind.
FrameSpec sample_spec(bool variable, IndexForm index) {
  FrameSpec spec;
  spec.chunksize = variable ? 0 : 200;
  spec.index = index;
  ChunkSpec chunk;
  chunk.blocksize = 100;
  spec.chunks = {
      stored_chunk(ramp(200, 4), chunk),
      variable ? stored_chunk(noise(30, 1), chunk) : index_only_chunk(SpecialKind::zero, 200),
      stored_chunk(ramp(150, 4), chunk)};
  spec.metalayers = {{.name = "meta", .content = counting(5)}};
  spec.vlmetalayers = {{.name = "vlmeta", .content = counting(40)}};
  return spec;
}

BuiltFrame sample() { return build_frame(sample_spec(false, IndexForm::memcpyed)); }

// Oracle: see frame_misbehaviour().
TEST_CASE("frame: no flipped bit makes a frame misbehave", "[codec][frame][corrupt]") {
  for (const bool variable : {false, true}) {
    for (const auto form : {IndexForm::memcpyed, IndexForm::blosclz, IndexForm::zstd}) {
      INFO("variable " << variable << ", index form " << static_cast<int>(form));
      const Bytes good = build_frame(sample_spec(variable, form)).bytes;
      REQUIRE(open_bytes(good).has_value());
      REQUIRE(test::frame_misbehaviour(good) == "");
      CHECK(test::first_bad_flip(good, 0, good.size(), test::frame_misbehaviour) == "");
    }
  }
  FrameSpec zeros;
  zeros.chunksize = 100;
  for (int i = 0; i < 20; ++i) zeros.chunks.push_back(index_only_chunk(SpecialKind::zero, 100));
  zeros.index = IndexForm::value;
  const Bytes good = build_frame(zeros).bytes;
  REQUIRE(test::frame_misbehaviour(good) == "");
  CHECK(test::first_bad_flip(good, 0, good.size(), test::frame_misbehaviour) == "");
}

TEST_CASE("frame: every truncated prefix is refused", "[codec][frame][corrupt]") {
  for (const Bytes& good : {sample().bytes, build_frame({}).bytes}) {
    for (std::size_t n = 0; n < good.size(); ++n) {
      INFO("prefix of " << n << " bytes");
      const auto frame = open_bytes(std::span(good).first(n));
      REQUIRE_FALSE(frame);
      REQUIRE(frame.error().kind == (n < 10 ? Errc::bad_field : Errc::truncated));
    }
  }
}

// The same cuts with a matching frame_len: now a part inside the frame is missing.
TEST_CASE("frame: a frame cut with its length adjusted is refused", "[codec][frame][corrupt]") {
  const Bytes good = sample().bytes;
  for (std::size_t n = kMinFrameBytes; n < good.size(); ++n) {
    INFO("prefix of " << n << " bytes");
    Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n));
    put_be(cut, 16, static_cast<std::uint64_t>(n));
    REQUIRE_FALSE(open_bytes(cut).has_value());
  }
}

TEST_CASE("frame: a read that fails while opening is passed on", "[codec][frame][corrupt]") {
  const Bytes bytes = sample().bytes;
  const MemorySource memory(bytes);
  int steps = 1;
  for (;; ++steps) {
    INFO("read " << steps << " fails");
    const test::FailingSource source(memory, steps);
    const auto frame = Frame::open(source, {});
    if (!source.has_failed()) {
      CHECK(frame.has_value());
      break;
    }
    REQUIRE_FALSE(frame);
    CHECK(frame.error().kind == Errc::system);
    CHECK(frame.error().sys == EIO);
  }
  CHECK(steps > 4);  // header twice, trailer twice, index
}

TEST_CASE("frame: a sparse frame's index file is no frame by itself", "[codec][frame][corrupt]") {
  Bytes bytes = sample().bytes;
  bytes[26] = std::byte{1};
  CHECK(outcome(open_bytes(bytes)) == "bad field: frame type at 26");
}

TEST_CASE("frame: a trailer whose end does not hold is refused", "[codec][frame][corrupt]") {
  const BuiltFrame built = sample();
  const std::size_t tail = built.bytes.size() - 23;
  const auto with = [&](std::uint32_t trailer_len) {
    Bytes bytes = built.bytes;
    put_be(bytes, tail + 1, trailer_len);
    return outcome(open_bytes(bytes));
  };
  const std::string refused = "bad field: trailer_len at " + std::to_string(tail + 1);
  const auto most = static_cast<std::uint32_t>(built.bytes.size() - built.header_bytes);
  for (const std::uint32_t length : {0U, 24U, most + 1, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
    INFO("length " << length);
    CHECK(with(length) == refused);
  }
  CHECK(with(static_cast<std::uint32_t>(built.bytes.size() - built.trailer_at)) == "ok");
  CHECK(with(25) != "ok");
  CHECK(with(most) != "ok");
  Bytes bytes = built.bytes;
  bytes[tail] = std::byte{0xcd};
  CHECK(outcome(open_bytes(bytes)) ==
        "bad field: trailer length marker at " + std::to_string(tail));
}

TEST_CASE("frame: an index that cannot be where the header says is refused",
          "[codec][frame][corrupt]") {
  const BuiltFrame built = sample();
  const auto to_trailer = static_cast<std::int64_t>(built.trailer_at - built.header_bytes);
  const auto with = [&](std::int64_t cbytes) {
    Bytes bytes = built.bytes;
    put_be(bytes, 39, cbytes);
    return outcome(open_bytes(bytes));
  };
  for (const std::int64_t cbytes : {to_trailer, to_trailer + 1, kInt64Max - 200, kInt64Max}) {
    INFO("compressed_size " << cbytes);
    CHECK(with(cbytes) == "bad field: compressed_size at 39");
  }
  CHECK(with(to_trailer - 1) == "truncated: versionlz at " + std::to_string(built.trailer_at));
  CHECK(with(to_trailer - 31) != "ok");
}

TEST_CASE("frame: an index of another shape than the chunks ask for is refused",
          "[codec][frame][corrupt]") {
  const BuiltFrame built = sample();
  const std::size_t at = built.index_at;
  const auto with = [&](auto&& damage) {
    Bytes bytes = built.bytes;
    damage(bytes);
    return outcome(open_bytes(bytes));
  };
  CHECK(with([&](Bytes& b) { b[at + 3] = std::byte{4}; }) ==
        "bad field: typesize of the index at " + std::to_string(at + 3));
  const std::string wrong = "bad field: nbytes of the index at " + std::to_string(at + 4);
  for (const std::int32_t nbytes : {0, 8, 16, 23, 25, 32, 4096}) {
    INFO("index of " << nbytes << " bytes");
    // A chunk of zeros, so that its size can be any.
    CHECK(with([&](Bytes& b) {
            b[at + 31] = std::byte{0x10};
            put_le(b, at + 4, nbytes);
            put_le(b, at + 12, 32);
          }) == wrong);
  }
  CHECK(with([&](Bytes& b) { put_be(b, 30, std::int64_t{400}); }) == wrong);
  CHECK(with([&](Bytes& b) { put_be(b, 30, std::int64_t{601}); }) == wrong);
  CHECK(with([&](Bytes& b) { put_be(b, 30, std::int64_t{401}); }) == "ok");
  CHECK(with([&](Bytes& b) { put_be(b, 58, 149); }) == wrong);
  CHECK(with([&](Bytes& b) { b[at + 2] = std::byte{0xf7}; }) ==
        "ok");  // a memcpyed chunk has no codec
  CHECK(with([&](Bytes& b) { put_le(b, at + 12, 55); }) ==
        "bad field: cbytes of a memcpyed chunk at " + std::to_string(at + 12));
  CHECK(with([&](Bytes& b) { put_le(b, at + 12, 57); }) ==
        "truncated: cbytes at " + std::to_string(at + 12));
}

TEST_CASE("frame: an index entry outside the chunks is refused", "[codec][frame][corrupt]") {
  const BuiltFrame built = sample();
  const MemorySource source(built.bytes);
  const auto frame = Frame::open(source, {}).value();
  const auto cbytes = static_cast<std::int64_t>(frame.header().cbytes);
  for (const std::int64_t entry : {cbytes, cbytes + 1, kInt64Max - 400, kInt64Max}) {
    INFO("entry " << entry);
    CHECK(outcome(frame.open_chunk(source, {2}, entry, {})) == "bad field: index entry at 16");
    CHECK(outcome(frame.read_chunk_nbytes(source, {2}, entry)) == "bad field: index entry at 16");
  }
  // The offset is inside, but leaves no room for a chunk.
  const std::string end = std::to_string(built.header_bytes + frame.header().cbytes);
  CHECK(outcome(frame.open_chunk(source, {0}, cbytes - 1, {})) == "truncated: versionlz at " + end);
  CHECK(outcome(frame.read_chunk_nbytes(source, {0}, cbytes - 1)) ==
        "truncated: versionlz at " + end);
}

TEST_CASE("frame: a chunk that reaches into the index is refused", "[codec][frame][corrupt]") {
  BuiltFrame built = sample();
  const std::size_t at = built.chunk_at[2];
  put_le(built.bytes, at + 12, static_cast<std::int32_t>(built.index_at - at + 1));
  const MemorySource source(built.bytes);
  const auto frame = Frame::open(source, {}).value();
  const auto entry = static_cast<std::int64_t>(at - built.header_bytes);
  const std::string expect = "truncated: cbytes at " + std::to_string(at + 12);
  CHECK(outcome(frame.open_chunk(source, {2}, entry, {})) == expect);
  CHECK(outcome(frame.read_chunk_nbytes(source, {2}, entry)) == expect);
}

TEST_CASE("frame: a chunk of another size than the frame's is refused where all have one",
          "[codec][frame][corrupt]") {
  for (const bool variable : {false, true}) {
    const BuiltFrame built = build_frame(sample_spec(variable, IndexForm::memcpyed));
    const MemorySource source(built.bytes);
    const auto frame = Frame::open(source, {}).value();
    const auto entry = static_cast<std::int64_t>(built.chunk_at[2] - built.header_bytes);
    CHECK(frame.open_chunk(source, {2}, entry, {}).has_value());
    CHECK(outcome(frame.open_chunk(source, {0}, entry, {})) ==
          (variable
               ? "ok"
               : "bad field: nbytes of the chunk at " + std::to_string(built.chunk_at[2] + 4)));
    CHECK(frame.read_chunk_nbytes(source, {0}, entry).value() == 150);
  }
}

// Neither the frame nor the entry has the size of such a chunk.
TEST_CASE("frame: a special entry where chunks vary in size is refused",
          "[codec][frame][corrupt]") {
  const BuiltFrame built = build_frame(sample_spec(true, IndexForm::memcpyed));
  const MemorySource source(built.bytes);
  const auto frame = Frame::open(source, {}).value();
  for (const auto kind : {SpecialKind::zero, SpecialKind::nan, SpecialKind::uninit}) {
    const auto entry = test::special_index_entry(kind);
    const std::string expect = "bad field: special index entry in a frame of varying chunks at 16";
    CHECK(outcome(frame.open_chunk(source, {2}, entry, {})) == expect);
    CHECK(outcome(frame.read_chunk_nbytes(source, {2}, entry)) == expect);
  }
}

// Oracle: no read exceeds the limits, so the reader did not allocate more.
TEST_CASE("frame: a header or trailer above its limit is refused unread",
          "[codec][frame][corrupt]") {
  Bytes head = sample().bytes;
  head.resize(kFrameFixedHeaderBytes);
  put_be(head, 11, std::numeric_limits<std::int32_t>::max());
  put_be(head, 16, kInt64Max);
  const test::VastSource vast(head, ~std::uint64_t{0});
  CHECK(outcome(Frame::open(vast, {})) == "over limit: header_len at 11");
  CHECK(vast.largest_read() == kFrameFixedHeaderBytes);

  FrameSpec spec = sample_spec(false, IndexForm::memcpyed);
  spec.vlmetalayers = {{.name = "large", .content = noise(10000, 1)}};
  const BuiltFrame built = build_frame(spec);
  const std::uint64_t trailer_bytes = built.bytes.size() - built.trailer_at;
  const MemorySource memory(built.bytes);
  Limits limits;
  limits.frame_header_bytes = built.header_bytes;
  limits.frame_trailer_bytes = trailer_bytes;
  CHECK(outcome(Frame::open(memory, limits)) == "ok");
  limits.frame_trailer_bytes = trailer_bytes - 1;
  const test::RecordingSource source(memory);
  CHECK(outcome(Frame::open(source, limits)) ==
        "over limit: trailer_len at " + std::to_string(built.bytes.size() - 22));
  CHECK(source.bytes_read() < 1000);
  limits.frame_header_bytes = built.header_bytes - 1;
  CHECK(outcome(Frame::open(memory, limits)) == "over limit: header_len at 11");
}

TEST_CASE("frame: of a long trailer, only the beginning and the heads of contents are read",
          "[codec][frame][corrupt]") {
  FrameSpec spec = sample_spec(false, IndexForm::memcpyed);
  spec.vlmetalayers.clear();
  for (const std::string name : {"one", "two", "three"}) {
    spec.vlmetalayers.push_back({.name = name, .content = noise(2 << 20, 1)});
  }
  const BuiltFrame built = build_frame(spec);
  const MemorySource memory(built.bytes);
  const test::RecordingSource source(memory);
  const auto frame = Frame::open(source, {}).value();
  CHECK(source.bytes_read() < 1 << 20);
  REQUIRE(frame.vlmetalayers().size() == 3);
  for (const auto& layer : frame.vlmetalayers()) {
    CHECK(read_vlmetalayer(memory, layer, {}).value() == noise(2 << 20, 1));
  }
}

TEST_CASE("frame: a long metalayer of an array is not read", "[codec][frame][corrupt]") {
  FrameSpec spec = sample_spec(false, IndexForm::memcpyed);
  spec.metalayers = {{.name = "b2nd", .content = noise(4 << 20, 1)}};
  const Bytes bytes = build_frame(spec).bytes;
  const MemorySource memory(bytes);
  const test::RecordingSource source(memory);
  const auto frame = Frame::open(source, {}).value();
  CHECK(frame.array()->error().kind == Errc::over_limit);
  CHECK(source.bytes_read() < 1 << 20);
}

TEST_CASE("frame: a vl-metalayer above its limit is refused undecoded", "[codec][frame][corrupt]") {
  Bytes bomb = build_special_chunk(SpecialKind::zero, 2147483612, 4);
  put_le(bomb, 8, 1 << 20);  // the format allows this block size
  const MemorySource source(bomb);
  const codec::Metalayer layer{.name = "bomb", .content = {0, bomb.size()}};
  CHECK(outcome(read_vlmetalayer(source, layer, {})) ==
        "over limit: nbytes of a vl-metalayer at 4");
  Limits limits;
  const Bytes small = build_special_chunk(SpecialKind::zero, 1000, 4);
  const codec::Metalayer fits{.name = "fits", .content = {0, small.size()}};
  limits.vlmeta_bytes = 1000;
  CHECK(read_vlmetalayer(MemorySource(small), fits, limits).value() == Bytes(1000));
  limits.vlmeta_bytes = 999;
  CHECK_FALSE(read_vlmetalayer(MemorySource(small), fits, limits).has_value());
}

TEST_CASE("frame: a vl-metalayer must be one chunk of just its length", "[codec][frame][corrupt]") {
  const BuiltFrame built = sample();
  const auto frame = open_bytes(built.bytes).value();
  const std::size_t at = frame.vlmetalayers().at(0).content.offset;
  const auto with = [&](std::int32_t nbytes, std::int32_t cbytes) {
    Bytes bytes = built.bytes;
    put_le(bytes, at + 4, nbytes);
    put_le(bytes, at + 12, cbytes);
    return outcome(open_bytes(bytes));
  };
  CHECK(with(40, 72) == "ok");
  CHECK(with(39, 71) == "bad field: cbytes of a vl-metalayer at " + std::to_string(at + 12));
  CHECK(with(41, 73) == "truncated: cbytes at " + std::to_string(at + 12));
  Bytes bytes = built.bytes;
  put_be(bytes, at - 4, 0U);
  CHECK(outcome(open_bytes(bytes)) == "truncated: version at " + std::to_string(at));
}

TEST_CASE("frame: more metalayers than the format allows are refused", "[codec][frame][corrupt]") {
  FrameSpec spec;
  for (int i = 0; i < 17; ++i) spec.metalayers.push_back({.name = "m", .content = {}});
  CHECK(outcome(open_bytes(build_frame(spec).bytes)) == "bad field: metalayer count at 92");
  spec.metalayers.pop_back();
  CHECK(outcome(open_bytes(build_frame(spec).bytes)) == "ok");
}

TEST_CASE("frame: errors in a trailer count from the frame's start", "[codec][frame][corrupt]") {
  const BuiltFrame built = sample();
  Bytes bytes = built.bytes;
  bytes[built.trailer_at + 6] = std::byte{0xdf};
  CHECK(outcome(open_bytes(bytes)) ==
        "bad field: metalayer map at " + std::to_string(built.trailer_at + 6));
}

// Another process truncates the open file after the position of a metalayer was checked.
TEST_CASE("frame: bytes that disappear after opening are reported by the read that needs them",
          "[codec][frame][corrupt]") {
  const BuiltFrame built = sample();
  const auto frame = open_bytes(built.bytes).value();
  const MemorySource cut(std::span(built.bytes).first(90));
  CHECK(read_metalayer(cut, frame.metalayers().at(0)).error().kind == Errc::truncated);
  CHECK(read_vlmetalayer(cut, frame.vlmetalayers().at(0), {}).error().kind == Errc::truncated);
  std::vector<std::int64_t> entries(3);
  CHECK(frame.read_entries(cut, {0}, entries).error().kind == Errc::truncated);
  CHECK(frame.open_chunk(cut, {0}, 0, {}).error().kind == Errc::truncated);
  CHECK(frame.read_chunk_nbytes(cut, {0}, 0).error().kind == Errc::truncated);
}

}  // namespace
}  // namespace framefs::codec::frame_damage_test
