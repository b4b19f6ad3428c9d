#include "codec/frame/readable_ends.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "codec/frame/frame_header.h"
#include "tests/support/catch.h"
#include "tests/support/frame_builder.h"
#include "tests/support/sample_data.h"

namespace framefs::codec::readable_ends_test {
namespace {

using test::Bytes;

test::BuiltFrame sample() {
  test::FrameSpec spec;
  spec.chunksize = 64;
  test::ChunkSpec chunk;
  chunk.codec = test::Codec::memcpy;
  spec.chunks = {test::stored_chunk(test::noise(64, 1), chunk)};
  spec.metalayers = {{.name = "one", .content = test::counting(3)}, {.name = "two", .content = {}}};
  spec.vlmetalayers = {{.name = "first", .content = test::counting(40)},
                       {.name = "second", .content = test::counting(50)}};
  return build_frame(spec);
}

ReadableTail tail_of(const test::BuiltFrame& frame, const Bytes& bytes) {
  return read_tail(MemorySource(bytes), frame.trailer_at, bytes.size(), {});
}

TEST_CASE("readable_ends: both ends of a whole frame are read", "[codec][readable_ends][unit]") {
  const auto frame = sample();
  const auto head = read_head(MemorySource(frame.bytes), {});
  REQUIRE(head.fixed);
  CHECK(head.fixed->nbytes == 64);
  CHECK(head.may_have_vlmetalayers);
  CHECK(head.has_metalayers);
  REQUIRE(head.metalayers.size() == 2);
  CHECK(head.metalayers[0].name == "one");
  CHECK(head.metalayers[0].content == test::counting(3));
  CHECK(head.context.schunk_typesize == 4);
  CHECK_FALSE(head.is_of_empty_frame());
  CHECK(head.tail_of_empty_frame() == 0);
  const auto tail = tail_of(frame, frame.bytes);
  CHECK(tail.is_whole);
  REQUIRE(tail.vlmetalayers.size() == 2);
  CHECK(tail.vlmetalayers[1].name == "second");
  CHECK(tail.vlmetalayers[1].content == test::counting(50));
}

TEST_CASE("readable_ends: a header is read if only its magic was overwritten",
          "[codec][readable_ends][corrupt]") {
  auto bytes = sample().bytes;
  std::fill_n(bytes.begin(), 10, std::byte{0});
  const auto head = read_head(MemorySource(bytes), {});
  REQUIRE(head.fixed);
  CHECK(head.fixed->nbytes == 64);
  CHECK(head.metalayers.size() == 2);
}

TEST_CASE("readable_ends: metalayers are read of a header whose fixed part is lost",
          "[codec][readable_ends][corrupt]") {
  const auto frame = sample();
  auto bytes = frame.bytes;
  std::fill_n(bytes.begin(), kFrameFixedHeaderBytes, std::byte{0});
  auto head = read_head(MemorySource(bytes), {});
  CHECK_FALSE(head.fixed);
  CHECK_FALSE(head.has_metalayers);
  add_metalayers(MemorySource(bytes), frame.header_bytes, kFrameFixedHeaderBytes, {}, head);
  CHECK(head.has_metalayers);
  CHECK(head.metalayers.size() == 2);
}

TEST_CASE("readable_ends: the trailer of a frame without chunks follows its header",
          "[codec][readable_ends][unit]") {
  const auto frame = test::build_frame({});
  const auto head = read_head(MemorySource(frame.bytes), {});
  CHECK(head.is_of_empty_frame());
  CHECK(head.tail_of_empty_frame() == frame.header_bytes);
}

TEST_CASE("readable_ends: of every prefix, whole vl-metalayers are read and no others",
          "[codec][readable_ends][corrupt]") {
  const auto frame = sample();
  std::size_t most = 0;
  for (std::size_t size = 0; size <= frame.bytes.size(); ++size) {
    INFO("prefix of " << size << " bytes");
    const Bytes prefix(frame.bytes.begin(),
                       frame.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const auto head = read_head(MemorySource(prefix), {});
    CHECK(head.fixed.has_value() == (size >= kFrameFixedHeaderBytes));
    CHECK(head.has_metalayers == (size >= frame.header_bytes));
    const auto tail = tail_of(frame, prefix);
    CHECK(tail.vlmetalayers.size() >= most);
    most = tail.vlmetalayers.size();
    CHECK(tail.is_whole == (most == 2));
    for (const auto& layer : tail.vlmetalayers) {
      CHECK(layer.content == test::counting(layer.name == "first" ? 40 : 50));
    }
  }
  CHECK(most == 2);
}

}  // namespace
}  // namespace framefs::codec::readable_ends_test
