#include "tests/support/frame_builder.h"

#include <cstdint>
#include <string>

#include "tests/support/catch.h"

namespace framefs::test::frame_builder_test {
namespace {

std::string hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const std::byte b : bytes) {
    out += kDigits[std::to_integer<unsigned>(b >> 4)];
    out += kDigits[std::to_integer<unsigned>(b & std::byte{15})];
  }
  return out;
}

Bytes counting(std::size_t n) {
  Bytes out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(static_cast<std::byte>(i));
  return out;
}

// The smallest one-chunk frame, byte by byte as a release of the reference library reads it.
TEST_CASE("frame_builder: the smallest frame has the expected bytes",
          "[support][frame_builder][unit]") {
  ChunkSpec chunk;
  chunk.codec = Codec::memcpy;
  chunk.typesize = 8;
  chunk.filters = {Filter::shuffle};
  FrameSpec spec;
  spec.codec = Codec::blosclz;
  spec.typesize = 8;
  spec.chunksize = 32;
  spec.blocksize = 32;
  spec.filters = {Filter::shuffle};
  spec.chunks = {stored_chunk(counting(32), chunk)};
  const BuiltFrame frame = build_frame(spec);

  const std::string zeros16(32, '0');
  CHECK(hex(frame.bytes) ==
        "9ea862326672616d6500d200000061cf00000000000000eca4120050"
        "03d300000000000000"
        "20"
        "d30000000000000040d200000008d200000020d200000020d10001d10001c2d806000000000001"
        "0000000000000000000093cd0007de0000dc0000"
        "05010708200000002000000040000000000000000001"
        "00000000000000000000"
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
        "05010708080000000800000028000000" +
            zeros16 +
            "0000000000000000"
            "940193cd0006de0000dc0000ce00000023d800" +
            zeros16);
  CHECK(frame.header_bytes == 97);
  CHECK(frame.chunk_at == std::vector<std::size_t>{97});
  CHECK(frame.index_at == 161);
  CHECK(frame.trailer_at == 201);
}

TEST_CASE("frame_builder: metalayers point at their contents", "[support][frame_builder][unit]") {
  FrameSpec spec;
  spec.metalayers = {{.name = "one", .content = counting(3)}, {.name = "b2nd", .content = {}}};
  spec.vlmetalayers = {{.name = "note", .content = counting(5)}};
  const BuiltFrame frame = build_frame(spec);
  const std::string header = hex(std::span(frame.bytes).subspan(87, frame.header_bytes - 87));
  // Two names at 116 and 124.  The 26 bytes before the contents count from the array marker at 87.
  CHECK(header ==
        "93cd001ade0002"
        "a36f6e65d200000074"
        "a462326e64d20000007c"
        "dc0002"
        "c600000003000102"
        "c600000000");
  const std::string trailer = hex(std::span(frame.bytes).subspan(frame.trailer_at));
  CHECK(trailer.substr(0, 46) == "940193cd0010de0001a46e6f7465d200000016dc0001c6");
}

TEST_CASE("chunk_builder: a run, zeros and raw bytes are coded as streams",
          "[support][chunk_builder][unit]") {
  ChunkSpec spec;
  spec.typesize = 2;
  spec.split = true;
  spec.filters = {Filter::shuffle};
  Bytes data;
  for (int i = 0; i < 8; ++i) {
    data.push_back(std::byte{0});
    data.push_back(std::byte{0xfe});
  }
  CHECK(hex(build_chunk(data, spec)) ==
        "05012502"
        "10000000"
        "10000000"
        "2d000000"
        "000000000001"
        "0100"
        "000000000000"
        "0000"
        "24000000"
        "00000000"
        "02ffffff01");
}

TEST_CASE("chunk_builder: special chunks hold a header and at most the value",
          "[support][chunk_builder][unit]") {
  const Bytes zeros = build_special_chunk(SpecialKind::zero, 4096, 4);
  CHECK(zeros.size() == 32);
  CHECK(zeros[31] == std::byte{0x10});
  const Bytes value = build_special_chunk(SpecialKind::value, 4096, 4, counting(4));
  CHECK(value.size() == 36);
  CHECK(value[31] == std::byte{0x30});
  CHECK(hex(std::span(value).subspan(12, 4)) == "24000000");
}

}  // namespace
}  // namespace framefs::test::frame_builder_test
