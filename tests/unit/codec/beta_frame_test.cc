// Frames of 2.0.0-beta.2 to beta.5 and of the development up to rc1.  Their headers and trailers
// differ from today's.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "codec/core/limits.h"
#include "codec/frame/frame.h"
#include "codec/frame/frame_reader.h"
#include "codec/frame/metalayer_content.h"
#include "tests/support/beta_frame_builder.h"
#include "tests/support/catch.h"
#include "tests/support/damage.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"

namespace framefs::codec::beta_frame_test {
namespace {

using test::BetaExtras;
using test::build_beta_frame;
using test::BuiltFrame;
using test::Bytes;
using test::ChunkSpec;
using test::counting;
using test::FrameSpec;
using test::outcome;
using test::put_be;
using test::put_le;
using test::ramp;
using test::stored_chunk;

constexpr auto kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr auto kInt32Min = std::numeric_limits<std::int32_t>::min();
constexpr auto kInt64Max = std::numeric_limits<std::int64_t>::max();

Result<Frame> open_bytes(const Bytes& bytes) { return Frame::open(MemorySource(bytes), {}); }

Result<Bytes> read_all(const Bytes& bytes) {
  const MemorySource source(bytes);
  FRAMEFS_TRY(const Frame frame, Frame::open(source, {}));
  Bytes out(frame.nbytes());
  FRAMEFS_CHECK(FrameReader(source, frame, {}).read(0, out));
  return out;
}

// Four chunks of 1000 bytes; the last one has 500.
FrameSpec sample_spec() {
  FrameSpec spec;
  spec.chunksize = 1000;
  spec.codec = test::Codec::blosclz;
  spec.level = 9;
  spec.filters = {test::Filter::delta, test::Filter::shuffle};
  ChunkSpec chunk;
  chunk.blocksize = 400;
  chunk.version = 4;
  const Bytes data = ramp(3500, 4);
  for (std::size_t at = 0; at < data.size(); at += 1000) {
    const std::size_t n = std::min<std::size_t>(1000, data.size() - at);
    spec.chunks.push_back(stored_chunk(std::span(data).subspan(at, n), chunk));
  }
  return spec;
}

// Oracle: the values that the builder put into the fields.
TEST_CASE("beta frame: the header's fields stand where the betas had them",
          "[codec][beta_frame][unit]") {
  const auto built = build_beta_frame(sample_spec());
  const auto header = parse_frame_header(built.bytes).value();
  CHECK(header.layout == FrameLayout::beta);
  CHECK(header.type == FrameType::contiguous);
  CHECK(header.version == 1);
  CHECK(header.header_len == built.header_bytes);
  CHECK(header.frame_len == built.bytes.size());
  CHECK(header.nbytes == 3500);
  CHECK(header.cbytes == built.index_at - built.header_bytes);
  CHECK(header.typesize == 4);
  CHECK(header.chunksize == 1000);
  CHECK(header.blocksize == 0);
  CHECK(header.codec_id == 0);
  CHECK(header.clevel == 9);
  CHECK(header.metalayers_at() == 82);
  // The last filter is the one next to the codec.
  CHECK(header.filters[4].id == 3);
  CHECK(header.filters[5].id == 1);
  CHECK(header.filters[3].id == 0);
}

TEST_CASE("beta frame: its chunks are read", "[codec][beta_frame][unit]") {
  for (const auto flags : {std::uint8_t{0x21}, std::uint8_t{0x11}}) {
    for (const auto version : {std::uint8_t{0}, std::uint8_t{1}}) {
      for (const auto form : {test::IndexForm::memcpyed, test::IndexForm::blosclz}) {
        auto spec = sample_spec();
        spec.index = form;
        spec.dead_bytes_before_chunks = version == 0 ? 0 : 100;
        const auto built = build_beta_frame(
            spec, {.usermeta = {}, .general_flags = flags, .trailer_version = version});
        const auto got = read_all(built.bytes);
        INFO(outcome(got));
        REQUIRE(got);
        CHECK(*got == ramp(3500, 4));
      }
    }
  }
}

TEST_CASE("beta frame: the marker of the chunk size decides the layout",
          "[codec][beta_frame][unit]") {
  // Byte 57 decides: in today's layout it is the marker of the chunk size.
  auto bytes = build_beta_frame(sample_spec()).bytes;
  bytes[57] = std::byte{0xd2};
  CHECK(parse_frame_header(bytes).value_or(FrameHeader{}).layout == FrameLayout::current);
  auto current = build_frame(sample_spec()).bytes;
  current[0] = std::byte{0x9d};
  CHECK(parse_frame_header(current).value().layout == FrameLayout::current);
}

TEST_CASE("beta frame: metalayers are found", "[codec][beta_frame][unit]") {
  auto spec = sample_spec();
  spec.metalayers = {{.name = "one", .content = counting(3)}, {.name = "two", .content = {}}};
  const auto bytes = build_beta_frame(spec).bytes;
  const MemorySource source(bytes);
  const auto frame = Frame::open(source, {}).value();
  REQUIRE(frame.metalayers().size() == 2);
  CHECK(frame.metalayers()[0].name == "one");
  CHECK(read_metalayer(source, frame.metalayers()[0]).value() == counting(3));
  CHECK(read_metalayer(source, frame.metalayers()[1]).value().empty());
  CHECK(read_all(bytes).value() == ramp(3500, 4));
}

TEST_CASE("beta frame: the user's data is a vl-metalayer", "[codec][beta_frame][unit]") {
  for (const std::size_t size : {0U, 1U, 40U, 5000U}) {
    CAPTURE(size);
    const auto bytes = build_beta_frame(sample_spec(), {.usermeta = counting(size)}).bytes;
    const MemorySource source(bytes);
    const auto frame = Frame::open(source, {}).value();
    REQUIRE(frame.vlmetalayers().size() == 1);
    CHECK(frame.vlmetalayers()[0].name == "usermeta");
    CHECK(read_vlmetalayer(source, frame.vlmetalayers()[0], {}).value() == counting(size));
    CHECK(read_all(bytes).value() == ramp(3500, 4));
  }
  CHECK(open_bytes(build_beta_frame(sample_spec()).bytes).value().vlmetalayers().empty());
}

TEST_CASE("beta frame: one without chunks opens", "[codec][beta_frame][unit]") {
  const auto bytes = build_beta_frame({}, {.usermeta = counting(9)}).bytes;
  const auto frame = open_bytes(bytes).value();
  CHECK(frame.nbytes() == 0);
  CHECK(frame.chunk_count() == 0);
  CHECK(frame.vlmetalayers().size() == 1);
}

struct FieldCase {
  std::size_t at;
  int width;
  std::int64_t value;
  const char* expect;
};

// Oracle: the format's rules.  Each number is tried at both of its limits and one past them.
TEST_CASE("beta frame: numbers are taken up to their limits and refused past them",
          "[codec][beta_frame][corrupt]") {
  const Bytes good = build_beta_frame(sample_spec()).bytes;
  const auto parse = [](const Bytes& bytes) { return outcome(parse_frame_header(bytes)); };
  REQUIRE(parse(good) == "ok");
  for (const auto& field : std::vector<FieldCase>{
           {11, 4, kInt32Min, "bad field: header_len at 11"},
           {11, 4, 86, "bad field: header_len at 11"},
           {11, 4, 87, "ok"},
           {11, 4, kInt32Max, "bad field: header_len at 11"},
           {16, 8, -1, "bad field: frame_len at 16"},
           {16, 8, 111, "bad field: frame_len at 16"},
           {16, 8, kInt64Max, "ok"},
           {25, 1, 0x24, "unsupported: frame format version at 25"},
           {30, 8, -1, "bad field: uncompressed_size at 30"},
           {30, 8, std::int64_t{kMaxChunks} * 1000, "ok"},
           {30, 8, std::int64_t{kMaxChunks} * 1000 + 1, "bad field: uncompressed_size at 30"},
           {39, 8, -1, "bad field: compressed_size at 39"},
           {39, 8, kInt64Max, "ok"},
           {48, 4, -1, "bad field: typesize at 48"},
           {48, 4, 0, "bad field: typesize at 48"},
           {48, 4, kInt32Max, "ok"},
           {53, 4, kInt32Min, "bad field: chunksize at 53"},
           {53, 4, -1, "bad field: chunksize at 53"},
           {53, 4, kMaxChunkBytes, "ok"},
           {53, 4, kInt32Max, "bad field: chunksize at 53"},
           {65, 1, 0, "ok"},
           {65, 1, 6, "ok"},
           {65, 1, 7, "bad field: number of filters at 65"},
           {65, 1, 8, "bad field: number of filters at 65"},
           {65, 1, 255, "bad field: number of filters at 65"},
           {66, 1, 4, "ok"},
           {66, 1, 5, "bad field: filter of the frame header at 66"},
           {67, 1, 37, "unsupported: filter of the frame header at 67"},
           {68, 1, 5, "ok"},  // two are in use
           {74, 1, 255, "ok"},
       }) {
    INFO("field at " << field.at << " = " << field.value);
    Bytes bytes = good;
    if (field.width == 1) put_be(bytes, field.at, static_cast<std::uint8_t>(field.value));
    if (field.width == 4) put_be(bytes, field.at, static_cast<std::int32_t>(field.value));
    if (field.width == 8) put_be(bytes, field.at, field.value);
    CHECK(parse(bytes) == field.expect);
  }
}

TEST_CASE("beta frame: every truncated prefix is refused", "[codec][beta_frame][corrupt]") {
  const Bytes good = build_beta_frame(sample_spec(), {.usermeta = counting(9)}).bytes;
  for (std::size_t n = 0; n < good.size(); ++n) {
    CAPTURE(n);
    const auto frame = Frame::open(MemorySource(std::span(good).first(n)), {});
    REQUIRE_FALSE(frame);
    REQUIRE(frame.error().kind == (n < 10 ? Errc::bad_field : Errc::truncated));
  }
}

// The length of the user data is at 3 in the trailer; its chunk starts at 7.
struct Trailer {
  Trailer() : built(build_beta_frame(sample_spec(), {.usermeta = counting(40)})) {
    REQUIRE(open_bytes(built.bytes));
  }
  [[nodiscard]] std::size_t at(std::size_t offset) const { return built.trailer_at + offset; }
  [[nodiscard]] std::string place(std::size_t offset) const { return std::to_string(at(offset)); }
  BuiltFrame built;
};

TEST_CASE("beta frame: user's data longer than the trailer is refused",
          "[codec][beta_frame][corrupt]") {
  const Trailer good;
  // The parser takes this many bytes as the chunk, but the chunk has another length.
  for (const std::uint32_t length :
       {72U + 23U + 1U, 1000U, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
    CAPTURE(length);
    Bytes bytes = good.built.bytes;
    put_be(bytes, good.at(3), length);
    CHECK(outcome(open_bytes(bytes)) == "truncated: usermeta at " + good.place(7));
  }
}

TEST_CASE("beta frame: user's data must be one chunk of just its length",
          "[codec][beta_frame][corrupt]") {
  const Trailer good;
  const auto with = [&](std::uint32_t length) {
    Bytes bytes = good.built.bytes;
    put_be(bytes, good.at(3), length);
    return outcome(open_bytes(bytes));
  };
  CHECK(with(72) == "ok");
  CHECK(with(73) == "bad field: cbytes of a vl-metalayer at " + good.place(7 + 12));
  CHECK(with(71) == "truncated: cbytes at " + good.place(7 + 12));
  CHECK(with(31) == "truncated: cbytes at " + good.place(7 + 12));
  CHECK(with(15).starts_with("truncated: "));
  CHECK(with(1).starts_with("truncated: "));
  CHECK(with(0) == "ok");  // no user data
  Bytes bytes = good.built.bytes;
  put_le<std::int32_t>(bytes, good.at(7 + 4), -1);
  CHECK(outcome(open_bytes(bytes)) == "bad field: nbytes at " + good.place(7 + 4));
}

TEST_CASE("beta frame: user's data above its limit is refused undecoded",
          "[codec][beta_frame][corrupt]") {
  const auto bytes = build_beta_frame(sample_spec(), {.usermeta = counting(1000)}).bytes;
  const MemorySource source(bytes);
  const auto frame = Frame::open(source, {}).value();
  Limits limits;
  limits.vlmeta_bytes = 999;
  CHECK(outcome(read_vlmetalayer(source, frame.vlmetalayers().at(0), limits)) ==
        "over limit: nbytes of a vl-metalayer at " +
            std::to_string(frame.vlmetalayers().at(0).content.offset + 4));
}

TEST_CASE("beta frame: a trailer whose end does not hold is refused",
          "[codec][beta_frame][corrupt]") {
  const Trailer good;
  const std::size_t tail = good.built.bytes.size() - 23;
  for (const std::uint32_t length : {0U, 24U, 0x7fffffffU, 0xffffffffU}) {
    CAPTURE(length);
    Bytes bytes = good.built.bytes;
    put_be(bytes, tail + 1, length);
    CHECK(outcome(open_bytes(bytes)) == "bad field: trailer_len at " + std::to_string(tail + 1));
  }
}

TEST_CASE("beta frame: an index entry outside the chunks is refused",
          "[codec][beta_frame][corrupt]") {
  auto built = build_beta_frame(sample_spec());
  put_le<std::int64_t>(built.bytes, built.index_at + 32 + 8, kInt64Max);
  const MemorySource source(built.bytes);
  const auto frame = Frame::open(source, {}).value();
  FrameReader reader(source, frame, {});
  Bytes out(1000);
  CHECK(outcome(reader.read(1000, out)) == "bad field: index entry at 8");
  CHECK(reader.read(0, out).has_value());
}

// Oracle: see frame_misbehaviour().
TEST_CASE("beta frame: no flipped bit makes it misbehave", "[codec][beta_frame][corrupt]") {
  auto spec = sample_spec();
  spec.chunks.resize(2);
  spec.metalayers = {{.name = "m", .content = counting(3)}};
  for (const bool has_usermeta : {false, true}) {
    BetaExtras extras;
    if (has_usermeta) extras.usermeta = counting(9);
    const Bytes good = build_beta_frame(spec, extras).bytes;
    REQUIRE(test::frame_misbehaviour(good) == "");
    CHECK(test::first_bad_flip(good, 0, good.size(), test::frame_misbehaviour) == "");
  }
}

}  // namespace
}  // namespace framefs::codec::beta_frame_test
