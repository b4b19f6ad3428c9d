#include "fs/read/recent_touches.h"

#include <cstdint>
#include <memory>

#include "tests/support/catch.h"

namespace framefs::fs::recent_touches_test {
namespace {

TEST_CASE("recent_touches: the requests for a block are counted", "[fs][read]") {
  const auto touches = std::make_unique<RecentTouches>();
  const CacheKey key{.content = {1}};
  CHECK(touches->note(key).count == 1);
  CHECK(touches->note(key).count == 2);
  CHECK(touches->note(key).age == 1);
  for (std::uint64_t i = 2; i < 100; ++i) CHECK(touches->note({.content = {i}}).count == 1);
  const auto touch = touches->note(key);
  CHECK(touch.count == 4);
  CHECK(touch.age == 99);
  for (int i = 0; i < 10; ++i) static_cast<void>(touches->note(key));
  CHECK(touches->note(key).count == RecentTouches::kMost);
  const CacheKey damaged{.content = {101}};
  touches->note_most(damaged);
  CHECK(touches->note(damaged).count == RecentTouches::kMost);
}

TEST_CASE("recent_touches: the blocks of a long file are remembered beside each other",
          "[fs][read]") {
  constexpr std::uint64_t kBlocks = 8192;  // 1 GiB of 128 KiB
  const auto touches = std::make_unique<RecentTouches>();
  const auto count_first = [&] {
    std::uint64_t first = 0;
    for (std::uint64_t i = 0; i < kBlocks; ++i) {
      const CacheKey key{
          .content = {1}, .chunk = i / 32, .block = static_cast<std::uint32_t>(i % 32)};
      if (touches->note(key).count == 1) ++first;
    }
    return first;
  };
  CHECK(count_first() == kBlocks);
  CHECK(count_first() < kBlocks / 10);
}

TEST_CASE("recent_touches: whether readers come back to blocks", "[fs][read]") {
  const auto touches = std::make_unique<RecentTouches>();
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
}  // namespace framefs::fs::recent_touches_test
