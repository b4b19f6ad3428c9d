#include "fs/read/first_touches.h"

#include <cstdint>
#include <memory>

#include "tests/support/catch.h"

namespace framefs::fs {
namespace {

TEST_CASE("first_touches: a block is counted to the limit, and again from the second on",
          "[fs][read]") {
  const auto touches = std::make_unique<FirstTouches>();
  const CacheKey key{.content = {1}};
  for (const std::uint64_t expected : {1U, 2U, 3U, 2U, 3U}) CHECK(touches->note(key, 3) == expected);
}

TEST_CASE("first_touches: the blocks of a long file are counted beside each other", "[fs][read]") {
  constexpr std::uint64_t kBlocks = 8192;  // 1 GiB of 128 KiB
  constexpr std::uint64_t kRounds = 4;
  const auto touches = std::make_unique<FirstTouches>();
  std::uint64_t counted = 0;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    counted = 0;
    for (std::uint64_t i = 0; i < kBlocks; ++i) {
      const CacheKey key{
          .content = {1}, .chunk = i / 32, .block = static_cast<std::uint32_t>(i % 32)};
      if (touches->note(key, kRounds) == round) ++counted;
    }
  }
  CHECK(counted > kBlocks * 9 / 10);
}

}  // namespace
}  // namespace framefs::fs
