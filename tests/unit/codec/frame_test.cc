#include "codec/frame/frame.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "codec/chunk/chunk_reader.h"
#include "codec/frame/frame_reader.h"
#include "codec/frame/metalayer_content.h"
#include "tests/support/catch.h"
#include "tests/support/decode_oracle.h"
#include "tests/support/frame_builder.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"
#include "tests/support/source_doubles.h"

namespace framefs::codec::frame_test {
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

constexpr Limits kLimits{};

Result<Frame> open_bytes(std::span<const std::byte> bytes, const Limits& limits = kLimits) {
  return Frame::open(MemorySource(bytes), limits);
}

Result<Bytes> read_all(const ByteSource& source) {
  FRAMEFS_TRY(const Frame frame, Frame::open(source, kLimits));
  Bytes out(frame.nbytes());
  FRAMEFS_CHECK(FrameReader(source, frame, kLimits).read(0, out));
  return out;
}

Result<Bytes> read_all(const Bytes& bytes) { return read_all(MemorySource(bytes)); }

Bytes hex_bytes(std::string_view hex) {
  const auto digit = [](char c) {
    return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
  };
  Bytes out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<std::byte>(digit(hex[i]) << 4 | digit(hex[i + 1])));
  }
  return out;
}

// Four stored chunks of 1000 bytes; the last one has 500.
FrameSpec sample_spec() {
  FrameSpec spec;
  spec.chunksize = 1000;
  ChunkSpec chunk;
  chunk.blocksize = 400;
  const Bytes data = ramp(3500, 4);
  for (std::size_t at = 0; at < data.size(); at += 1000) {
    const std::size_t n = std::min<std::size_t>(1000, data.size() - at);
    spec.chunks.push_back(stored_chunk(std::span(data).subspan(at, n), chunk));
  }
  return spec;
}

// Oracle: the meaning of the bytes in the frame format.
TEST_CASE("frame: the smallest frame is read", "[codec][frame][unit]") {
  const std::string zeros16(32, '0');
  const Bytes bytes = hex_bytes(
      "9ea862326672616d6500d200000061cf00000000000000eca412005003d30000"
      "000000000020d30000000000000040d200000008d200000020d200000020d100"
      "01d10001c2d80600000000000100000000000000000000"
      "93cd0007de0000dc0000"
      "05010708200000002000000040000000000000000001"
      "00000000000000000000"
      "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
      "05010708080000000800000028000000" +
      zeros16 +
      "0000000000000000"
      "940193cd0006de0000dc0000ce00000023d800" +
      zeros16);
  REQUIRE(bytes.size() == 236);
  const auto frame = open_bytes(bytes).value();
  CHECK(frame.chunk_count() == 1);
  CHECK(frame.nbytes() == 32);
  CHECK(frame.metalayers().empty());
  CHECK(frame.vlmetalayers().empty());
  CHECK(read_all(bytes).value() == counting(32));
}

TEST_CASE("frame: an index of any kind is read in any pieces", "[codec][frame][unit]") {
  for (const auto form : {IndexForm::memcpyed, IndexForm::blosclz, IndexForm::zstd}) {
    INFO("form " << static_cast<int>(form));
    FrameSpec spec;
    spec.chunksize = 32;
    spec.index = form;
    ChunkSpec chunk;
    chunk.codec = test::Codec::memcpy;
    for (unsigned i = 0; i < 700; ++i) spec.chunks.push_back(stored_chunk(noise(32, i), chunk));
    const BuiltFrame built = build_frame(spec);
    const MemorySource source(built.bytes);
    const auto frame = Frame::open(source, kLimits).value();
    REQUIRE(frame.chunk_count() == 700);
    std::vector<std::int64_t> entries(700);
    REQUIRE(frame.read_entries(source, {0}, entries));
    for (std::size_t i = 0; i < 700; ++i) {
      REQUIRE(entries[i] == static_cast<std::int64_t>(built.chunk_at[i] - built.header_bytes));
    }
    std::vector<std::int64_t> some(13);
    REQUIRE(frame.read_entries(source, {687}, some));
    CHECK(std::ranges::equal(some, std::span(entries).subspan(687)));
    REQUIRE(frame.read_entries(source, {700}, {}));
    CHECK(frame.chunk_range({3}) == ByteRange{96, 32});
    CHECK(frame.memory_bytes() >= sizeof(Frame));
  }
}

TEST_CASE("frame: opening reads no chunk and opening a chunk reads no other",
          "[codec][frame][unit]") {
  const BuiltFrame built = build_frame(sample_spec());
  const MemorySource memory(built.bytes);
  test::RecordingSource source(memory);
  const auto frame = Frame::open(source, kLimits).value();
  const std::uint64_t size = built.bytes.size();
  CHECK(source.stayed_within(
      std::vector<ByteRange>{{0, built.header_bytes}, {built.index_at, size - built.index_at}}));
  std::vector<std::int64_t> entries(4);
  source.forget();
  REQUIRE(frame.read_entries(source, {0}, entries));
  CHECK(source.stayed_within(
      std::vector<ByteRange>{{built.index_at, built.trailer_at - built.index_at}}));
  source.forget();
  REQUIRE(frame.open_chunk(source, {3}, entries[3], kLimits));
  CHECK(source.stayed_within(
      std::vector<ByteRange>{{built.chunk_at[3], built.index_at - built.chunk_at[3]}}));
}

TEST_CASE("frame: chunks of one size, the last shorter, are opened with their own header",
          "[codec][frame][unit]") {
  const BuiltFrame built = build_frame(sample_spec());
  const MemorySource source(built.bytes);
  const auto frame = Frame::open(source, kLimits).value();
  CHECK(frame.chunk_count() == 4);
  CHECK(frame.chunk_range({3}) == ByteRange{3000, 500});
  const auto last = frame.open_chunk(
      source, {3}, static_cast<std::int64_t>(built.chunk_at[3] - built.header_bytes), kLimits);
  REQUIRE(last);
  CHECK(last->nbytes() == 500);
  CHECK(read_all(built.bytes).value() == ramp(3500, 4));
}

// Oracle: the reference library tests the bits in this order.
TEST_CASE("frame: index entries that are rules give chunks without stored bytes",
          "[codec][frame][unit]") {
  const BuiltFrame built = build_frame(sample_spec());
  const MemorySource source(built.bytes);
  const auto frame = Frame::open(source, kLimits).value();
  for (std::uint64_t low = 0; low < 256; ++low) {
    const std::uint64_t bits = low << 55 | 0x123456789abULL;  // the low bits have no meaning
    const auto entry = static_cast<std::int64_t>(bits | std::uint64_t{1} << 63);
    const auto kind = (low >> 1) & 7;
    INFO("bits " << kind);
    for (const std::uint64_t index : {std::uint64_t{0}, std::uint64_t{3}}) {
      const auto chunk = frame.open_chunk(source, {index}, entry, kLimits);
      if (kind == 0) {
        REQUIRE(outcome(chunk) == "bad field: special index entry at " + std::to_string(8 * index));
        continue;
      }
      REQUIRE(chunk);
      REQUIRE(chunk->nbytes() == (index == 0 ? 1000 : 500));
      REQUIRE(chunk->header().special == ((kind & 1) != 0   ? Special::zero
                                          : (kind & 4) != 0 ? Special::uninit
                                                            : Special::nan));
    }
  }
}

TEST_CASE("frame: special chunks of every kind read by their rule", "[codec][frame][unit]") {
  FrameSpec spec;
  spec.chunksize = 1000;
  spec.typesize = 8;
  const Bytes value = noise(8, 1);
  spec.chunks = {index_only_chunk(SpecialKind::zero, 1000),
                 stored_chunk(noise(1000, 2), {}),
                 index_only_chunk(SpecialKind::nan, 1000),
                 {.stored = build_special_chunk(SpecialKind::value, 1000, 8, value),
                  .special = std::nullopt,
                  .nbytes = 1000},
                 {.stored = build_special_chunk(SpecialKind::zero, 1000, 8),
                  .special = std::nullopt,
                  .nbytes = 1000},
                 index_only_chunk(SpecialKind::uninit, 77)};
  Bytes expect(1000, std::byte{0});
  test::append(expect, noise(1000, 2));
  for (int i = 0; i < 125; ++i) test::append(expect, hex_bytes("000000000000f87f"));
  for (int i = 0; i < 125; ++i) test::append(expect, value);
  expect.resize(5077, std::byte{0});
  CHECK(read_all(build_frame(spec).bytes).value() == expect);
}

TEST_CASE("frame: NaN chunks need items of 4 or 8 bytes", "[codec][frame][corrupt]") {
  FrameSpec spec;
  spec.chunksize = 1000;
  spec.chunks = {index_only_chunk(SpecialKind::nan, 1000)};
  for (const std::uint32_t typesize : {1U, 5U, 255U, 260U}) {
    spec.typesize = typesize;
    CHECK(outcome(read_all(build_frame(spec).bytes)) == "bad field: typesize of a NaN chunk at 0");
  }
}

TEST_CASE("frame: typesizes above 255 and chunks of Blosc1 are read", "[codec][frame][unit]") {
  FrameSpec spec;
  spec.typesize = 300;
  spec.chunksize = 3000;
  ChunkSpec wide;
  wide.typesize = 300;
  wide.filters = {test::Filter::shuffle};
  const Bytes data = ramp(3000, 300);
  ChunkSpec old;
  old.blosc1_header = true;
  old.filters = {test::Filter::shuffle};
  spec.chunks = {stored_chunk(data, wide), index_only_chunk(SpecialKind::zero, 3000),
                 stored_chunk(ramp(3000, 4), old)};
  Bytes expect = data;
  expect.resize(6000, std::byte{0});
  test::append(expect, ramp(3000, 4));
  CHECK(read_all(build_frame(spec).bytes).value() == expect);
}

// A frame of about three hundred bytes that claims almost the maximum that the format allows.
TEST_CASE("frame: a vast frame of zeros opens and reads within little memory",
          "[codec][frame][unit]") {
  constexpr std::uint64_t kEntries = 268435451;
  Bytes entry;
  test::append_le(entry, test::special_index_entry(SpecialKind::zero));
  Bytes index = build_special_chunk(SpecialKind::value, kEntries * 8, 8, entry);
  put_le(index, 8, 1 << 20);  // the format allows this block size
  const Bytes trailer = test::build_trailer({});
  FrameSpec spec;
  spec.chunksize = 2147483615;
  const std::uint64_t nbytes = kEntries * spec.chunksize;
  Bytes bytes = build_frame_header(
      spec, {.nbytes = nbytes, .cbytes = 0, .frame_bytes = 97 + index.size() + trailer.size()});
  test::append(bytes, index);
  test::append(bytes, trailer);
  const MemorySource source(bytes);
  const auto frame = Frame::open(source, kLimits).value();
  CHECK(frame.chunk_count() == kEntries);
  CHECK(frame.memory_bytes() < 4096);
  FrameReader reader(source, frame, kLimits);
  Bytes out(100, std::byte{0xee});
  REQUIRE(reader.read(nbytes - 100, out));
  CHECK(out == Bytes(100, std::byte{0}));
}

TEST_CASE("frame: an empty frame opens, dead bytes and unset chunk size or not",
          "[codec][frame][unit]") {
  FrameSpec spec;
  spec.metalayers = {{.name = "m", .content = counting(3)}};
  spec.vlmetalayers = {{.name = "v", .content = counting(4)}};
  Bytes bytes = build_frame(spec).bytes;
  for (const std::int64_t cbytes : {std::int64_t{0}, std::int64_t{64}, std::int64_t{1} << 62}) {
    for (const std::int32_t chunksize : {-1, 0, 1000}) {
      put_be(bytes, 39, cbytes);
      put_be(bytes, 58, chunksize);
      const MemorySource source(bytes);
      const auto frame = Frame::open(source, kLimits);
      INFO(outcome(frame));
      REQUIRE(frame);
      CHECK(frame->chunk_count() == 0);
      CHECK(frame->nbytes() == 0);
      CHECK(read_metalayer(source, frame->metalayers().at(0)).value() == counting(3));
      CHECK(read_vlmetalayer(source, frame->vlmetalayers().at(0), kLimits).value() == counting(4));
      CHECK(frame->read_entries(source, {0}, {}).has_value());
      FrameReader reader(source, *frame, kLimits);
      CHECK(reader.read(0, {}).has_value());
      Bytes one(1);
      CHECK(outcome(reader.read(0, one)) == "truncated: frame at 0");
    }
  }
}

// Deleting the last chunk leaves bytes after the trailer that look like a trailer too.
TEST_CASE("frame: the trailer of an empty frame follows its header", "[codec][frame][unit]") {
  FrameSpec spec;
  spec.vlmetalayers = {{.name = "live", .content = counting(4)}};
  Bytes bytes = build_frame(spec).bytes;
  spec.vlmetalayers[0].name = "dead";
  test::append(bytes, test::build_trailer(spec.vlmetalayers));
  put_be(bytes, 16, static_cast<std::uint64_t>(bytes.size()));
  CHECK(open_bytes(bytes).value().vlmetalayers().at(0).name == "live");
}

TEST_CASE("frame: dead bytes, a gap before the trailer and bytes behind the frame are skipped",
          "[codec][frame][unit]") {
  FrameSpec spec = sample_spec();
  spec.dead_bytes_before_chunks = 1234;
  BuiltFrame built = build_frame(spec);
  CHECK(read_all(built.bytes).value() == ramp(3500, 4));
  Bytes with_gap(built.bytes.begin(), built.bytes.begin() + static_cast<int>(built.trailer_at));
  with_gap.resize(with_gap.size() + 333, std::byte{0x93});
  test::append(with_gap, std::span(built.bytes).subspan(built.trailer_at));
  put_be(with_gap, 16, static_cast<std::uint64_t>(with_gap.size()));
  CHECK(read_all(with_gap).value() == ramp(3500, 4));
  test::append(with_gap, noise(500, 1));
  CHECK(read_all(with_gap).value() == ramp(3500, 4));
}

TEST_CASE("frame: a frame inside of a file is read through a window", "[codec][frame][unit]") {
  FrameSpec spec = sample_spec();
  spec.vlmetalayers = {{.name = "v", .content = noise(90, 3)}};
  const Bytes frame_bytes = build_frame(spec).bytes;
  Bytes file = noise(1001, 1);
  test::append(file, frame_bytes);
  test::append(file, noise(99, 2));
  const MemorySource memory(file);
  const test::RecordingSource recording(memory);
  const ByteWindow window(recording, 1001, frame_bytes.size());
  CHECK(read_all(window).value() == ramp(3500, 4));
  CHECK(recording.stayed_within(std::vector<ByteRange>{{1001, frame_bytes.size()}}));
  CHECK(outcome(read_all(ByteWindow(memory, 1001, frame_bytes.size() - 1))) ==
        "truncated: frame_len at 16");
}

TEST_CASE("frame: metalayers of both kinds are found with their contents", "[codec][frame][unit]") {
  FrameSpec spec = sample_spec();
  for (unsigned i = 0; i < 16; ++i) {
    spec.metalayers.push_back({.name = std::string(2 * i, 'm'), .content = noise(i * i, i)});
  }
  for (unsigned i = 0; i < 40; ++i) {
    spec.vlmetalayers.push_back({.name = std::string(i % 32, 'v'), .content = noise(100 * i, i)});
  }
  const Bytes bytes = build_frame(spec).bytes;
  const MemorySource source(bytes);
  const auto frame = Frame::open(source, kLimits).value();
  REQUIRE(frame.metalayers().size() == 16);
  REQUIRE(frame.vlmetalayers().size() == 40);
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(frame.metalayers()[i].name == spec.metalayers[i].name);
    CHECK(read_metalayer(source, frame.metalayers()[i]).value() == spec.metalayers[i].content);
  }
  for (std::size_t i = 0; i < 40; ++i) {
    const auto& layer = frame.vlmetalayers()[i];
    CHECK(layer.name == spec.vlmetalayers[i].name);
    CHECK(read_vlmetalayer(source, layer, kLimits).value() == spec.vlmetalayers[i].content);
  }
  CHECK(read_all(bytes).value() == ramp(3500, 4));
}

TEST_CASE("frame: a vl-metalayer may be a chunk of any kind", "[codec][frame][unit]") {
  ChunkSpec packed;
  packed.codec = test::Codec::zstd;
  packed.typesize = 1;
  packed.blocksize = 700;
  ChunkSpec vl;
  vl.vl_block_bytes = {5000};
  for (const Bytes& chunk : {build_chunk(ramp(5000, 4), packed), build_chunk(ramp(5000, 4), vl)}) {
    Bytes around = noise(40, 1);
    test::append(around, chunk);
    const Metalayer layer{.name = "v", .content = {40, chunk.size()}};
    CHECK(read_vlmetalayer(MemorySource(around), layer, kLimits).value() == ramp(5000, 4));
  }
}

}  // namespace
}  // namespace framefs::codec::frame_test
