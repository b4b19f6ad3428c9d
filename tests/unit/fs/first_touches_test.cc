#include "fs/read/first_touches.h"

#include <cstdint>
#include <memory>

#include "tests/support/catch.h"

namespace framefs::fs::first_touches_test {
namespace {

TEST_CASE("first_touches: only the first request for a block is the first", "[fs][read]") {
  const auto touches = std::make_unique<FirstTouches>();
  const CacheKey key{.content = {1}};
  CHECK(touches->note(key));
  CHECK_FALSE(touches->note(key));
  CHECK_FALSE(touches->note(key));
  CHECK(touches->note({.content = {2}}));
}

TEST_CASE("first_touches: the blocks of a long file are remembered beside each other",
          "[fs][read]") {
  constexpr std::uint64_t kBlocks = 8192;  // 1 GiB of 128 KiB
  const auto touches = std::make_unique<FirstTouches>();
  const auto count_first = [&] {
    std::uint64_t first = 0;
    for (std::uint64_t i = 0; i < kBlocks; ++i) {
      const CacheKey key{
          .content = {1}, .chunk = i / 32, .block = static_cast<std::uint32_t>(i % 32)};
      if (touches->note(key)) ++first;
    }
    return first;
  };
  CHECK(count_first() == kBlocks);
  CHECK(count_first() < kBlocks / 10);
}

TEST_CASE("first_touches: whether readers come back to blocks", "[fs][read]") {
  const auto touches = std::make_unique<FirstTouches>();
  std::uint64_t next = 0;
  const auto note_new = [&](int count) {
    for (int i = 0; i < count; ++i) static_cast<void>(touches->note({.content = {++next}}));
  };
  note_new(1000);
  CHECK_FALSE(touches->are_often_repeated());
  // One of four goes back to the block before.
  for (int i = 0; i < 500; ++i) {
    note_new(3);
    static_cast<void>(touches->note({.content = {next}}));
  }
  CHECK(touches->are_often_repeated());
  note_new(1000);
  CHECK_FALSE(touches->are_often_repeated());
}

}  // namespace
}  // namespace framefs::fs::first_touches_test
