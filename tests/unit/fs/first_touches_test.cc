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

}  // namespace
}  // namespace framefs::fs::first_touches_test
