#include "fs/write/dirty_chunk.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/random_seed.h"

namespace framefs::fs {
namespace {

using test::Bytes;

// Oracle: the chunk as optional bytes; those that were not written are empty.
using Model = std::vector<std::optional<std::byte>>;

Model model_of(const DirtyChunk& chunk, std::uint32_t most) {
  Model model(most);
  for (const auto& [begin, end] : chunk.written().all()) {
    const auto bytes = chunk.bytes(begin, end);
    std::ranges::copy(bytes, model.begin() + begin);
  }
  return model;
}

TEST_CASE("dirty_chunk: holds the written bytes, wherever they lie in the chunk",
          "[fs][dirty_chunk][unit][long]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const auto pick = [&](std::uint64_t below) { return random() % below; };
  for (const std::uint32_t most : {1000U, 70'000U, 300'000U, 1U << 20}) {
    CAPTURE(most);
    for (int round = 0; round < 10; ++round) {
      OverlayBudget budget(64u << 20);
      OverlayBudget::Account account(budget);
      {
        DirtyChunk chunk(account, most);
        Model model(most);
        for (int i = 0; i < 12; ++i) {
          const auto offset = static_cast<std::uint32_t>(pick(most));
          const auto room = std::min<std::uint64_t>(most - offset, pick(2) == 0 ? 500 : 100'000);
          const auto size = static_cast<std::uint32_t>(1 + pick(room));
          const auto growth = DirtyChunk::growth(&chunk, offset, offset + size, most);
          const auto before = account.used();
          const Bytes bytes(size, std::byte(1 + pick(255)));
          if (pick(4) == 0) {
            chunk.write_zeros(offset, size, most);
            std::fill_n(model.begin() + offset, size, std::byte{0});
          } else {
            chunk.write(offset, bytes, most);
            std::ranges::copy(bytes, model.begin() + offset);
          }
          // The growth is known before the write; the memory that it replaces is given back.
          CHECK(account.used() == (growth == 0 ? before : growth + DirtyChunk::kOverheadBytes));
          REQUIRE(model_of(chunk, most) == model);
        }
      }
      CHECK(account.used() == 0);
    }
  }
}

TEST_CASE("dirty_chunk: a small write takes little memory at any place of a large chunk",
          "[fs][dirty_chunk][unit]") {
  constexpr std::uint32_t kMax = 64u << 20;
  for (const std::uint32_t offset : {0U, 5U, 1U << 20, 40'000'000U, kMax - 100}) {
    CAPTURE(offset);
    OverlayBudget budget(1u << 20);
    OverlayBudget::Account account(budget);
    DirtyChunk chunk(account, 0);
    chunk.write(offset, Bytes(100, std::byte{7}), kMax);
    CHECK(account.used() <= 8192);
    CHECK(DirtyChunk::growth(nullptr, offset, offset + 100, kMax) == account.used());
    CHECK(chunk.whole(kMax).empty());
  }
}

}  // namespace
}  // namespace framefs::fs
