#include "codec/compressor/stream_format.h"

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>

#include "codec/compressor/zfp.h"
#include "tests/support/catch.h"
#include "tests/support/outcome.h"

namespace framefs::codec::stream_format_test {
namespace {

using test::outcome;

static_assert(std::is_trivially_copyable_v<StreamFormat>);

StreamFormat plugin(std::uint8_t id, std::uint8_t meta = 4) {
  return {.codec = CodecFormat::plugin,
          .plugin_id = id,
          .plugin_meta = meta,
          .typesize = 4,
          .block_shape = BlockShape{.ndim = 2, .dims = {8, 9}}};
}

// Oracle: the table of flag bits of the chunk format.
TEST_CASE("stream_format: formats have their numbers and names", "[codec][stream_format][unit]") {
  const std::array<const char*, 8> names{"blosclz", "lz4",    "snappy", "zlib",
                                         "zstd",    "lizard", "plugin", "superchunk"};
  for (std::size_t number = 0; number < names.size(); ++number) {
    CHECK(std::string(codec_format_name(static_cast<CodecFormat>(number))) == names[number]);
  }
}

TEST_CASE("stream_format: formats without a decoder are reported by number and name",
          "[codec][stream_format][unit]") {
  for (const auto format : {CodecFormat::blosclz, CodecFormat::lz4, CodecFormat::snappy,
                            CodecFormat::zlib, CodecFormat::zstd}) {
    CHECK(outcome(check_stream_format({.codec = format})) == "ok");
  }
  for (const auto format : {CodecFormat::lizard, CodecFormat::superchunk}) {
    const auto status = check_stream_format({.codec = format});
    CHECK(outcome(status) ==
          std::string("unsupported: codec ") + codec_format_name(format) + " at 2");
    REQUIRE_FALSE(status);
    CHECK(status.error().value == static_cast<int>(format));
  }
}

TEST_CASE("stream_format: plugins that are not decoded here are named by number and name",
          "[codec][stream_format][unit]") {
  const auto check = [](int id, const std::string& name) {
    const auto status = check_stream_format(plugin(static_cast<std::uint8_t>(id)));
    CHECK(outcome(status) == "unsupported: " + name + " at 22");
    REQUIRE_FALSE(status);
    CHECK(status.error().value == id);
  };
  check(36, "codec openhtj2k");
  check(37, "codec grok");
  check(38, "codec openzl");
  check(39, "codec j2k");
  check(40, "codec htj2k");
  for (const int id : {41, 100, 159}) check(id, "registered codec");
  for (const int id : {160, 176, 254, 255}) check(id, "user codec");
  for (const int id : {6, 31}) check(id, "reserved codec");
  check(1, "codec lz4");  // not a plugin, whatever the flags say
  check(3, "codec snappy");
}

TEST_CASE("stream_format: ndlz needs a cell side and no array", "[codec][stream_format][unit]") {
  auto format = plugin(kCodecNdlz);
  format.block_shape.reset();
  for (unsigned side = 0; side < 256; ++side) {
    format.plugin_meta = static_cast<std::uint8_t>(side);
    CHECK(outcome(check_stream_format(format)) ==
          (side == 4 || side == 8 ? "ok" : "bad field: cell side of ndlz at 23"));
  }
}

TEST_CASE("stream_format: zfp is reported as present or missing", "[codec][stream_format][unit]") {
  for (const auto& [id, name] : {std::pair{kCodecZfpAccuracy, "zfp_acc"},
                                 {kCodecZfpPrecision, "zfp_prec"},
                                 {kCodecZfpRate, "zfp_rate"}}) {
    const auto missing = std::string("unsupported: codec ") + name + " at 22";
    CHECK(outcome(check_stream_format(plugin(id))) == (has_zfp() ? "ok" : missing));
  }
}

TEST_CASE("stream_format: zfp needs floats or doubles in 1 to 4 dimensions",
          "[codec][stream_format][corrupt]") {
  if (!has_zfp()) return;  // then all are refused, as the test case above checks
  for (const std::uint32_t typesize : {1U, 2U, 3U, 16U, 300U}) {
    auto format = plugin(kCodecZfpRate);
    format.typesize = typesize;
    CHECK(outcome(check_stream_format(format)) == "bad field: typesize of a zfp chunk at 22");
  }
  auto format = plugin(kCodecZfpRate);
  format.typesize = 8;
  CHECK(outcome(check_stream_format(format)) == "ok");
  for (const unsigned ndim : {0U, 1U, 2U, 3U, 4U, 5U, 8U, 16U}) {
    format.block_shape->ndim = static_cast<std::uint8_t>(ndim);
    CHECK(outcome(check_stream_format(format)) ==
          (ndim >= 1 && ndim <= 4 ? "ok" : "bad field: ndim of a zfp chunk at 22"));
  }
  format.block_shape.reset();
  CHECK(outcome(check_stream_format(format)) == "bad field: zfp chunk without an array at 22");
}

}  // namespace
}  // namespace framefs::codec::stream_format_test
