#include "fs/write/overlay/dirty_chunk.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/random_seed.h"

namespace framefs::fs::dirty_chunk_test {
namespace {

using test::Bytes;

// Oracle: the chunk as optional bytes; those that were not written are empty.
using Model = std::vector<std::optional<std::byte>>;

Model model_of(const DirtyChunk& chunk, std::uint32_t most) {
  Model model(most);
  for (const auto& [begin, end] : chunk.written().all()) {
    Bytes bytes(end - begin);
    chunk.read(begin, bytes);
    std::ranges::copy(bytes, model.begin() + begin);
  }
  return model;
}

std::uint64_t growth_of(const DirtyChunk* chunk, std::uint32_t offset, std::uint32_t size,
                        std::uint32_t most) {
  const Extents::Extent write{offset, offset + size};
  return DirtyChunk::growth(chunk, std::span(&write, 1), most);
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
          const auto growth = growth_of(&chunk, offset, size, most);
          const auto before = account.used();
          const Bytes bytes(size, std::byte(1 + pick(255)));
          if (pick(4) == 0) {
            chunk.write_zeros(offset, size, most);
            std::fill_n(model.begin() + offset, size, std::byte{0});
          } else {
            chunk.write(offset, bytes, most);
            std::ranges::copy(bytes, model.begin() + offset);
          }
          // The growth is known before the write.  The memory of the whole chunk replaces all other
          // memory, which is given back.
          const bool is_exact = account.used() == before + growth;
          const bool is_whole = growth == most && !chunk.whole(most).empty();
          CHECK((is_exact || (is_whole && account.used() == most + DirtyChunk::kOverheadBytes)));
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
    CHECK(growth_of(nullptr, offset, 100, kMax) == account.used());
    CHECK(chunk.whole(kMax).empty());
  }
}

TEST_CASE("dirty_chunk: distant small writes take memory for what they wrote",
          "[fs][dirty_chunk][unit]") {
  constexpr std::uint32_t kMax = 4u << 20;
  constexpr std::uint32_t kPage = 4096;
  constexpr std::uint32_t kCount = 100;
  OverlayBudget budget(64u << 20);
  OverlayBudget::Account account(budget);
  DirtyChunk chunk(account, kMax);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    // Neither order nor neighbours help: each page is 9 pages from the next one.
    chunk.write(i * 37 % kCount * 9 * kPage, Bytes(kPage, std::byte(i + 1)), kMax);
  }
  CHECK(account.used() == kCount * kPage + DirtyChunk::kOverheadBytes);
  CHECK(chunk.whole(kMax).empty());
  Bytes page(kPage);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    chunk.read(i * 37 % kCount * 9 * kPage, page);
    REQUIRE(page == Bytes(kPage, std::byte(i + 1)));
  }
}

TEST_CASE("dirty_chunk: written from its beginning or to a large part, it is one buffer",
          "[fs][dirty_chunk][unit]") {
  constexpr std::uint32_t kMax = 1u << 20;
  OverlayBudget budget(64u << 20);
  OverlayBudget::Account account(budget);
  for (const std::uint32_t piece : {100'000U, 128U << 10, 300'000U, kMax}) {
    CAPTURE(piece);
    DirtyChunk chunk(account, 0);
    for (std::uint32_t at = 0; at < kMax / 2 + 1; at += std::min(piece, kMax - at)) {
      chunk.write(at, Bytes(std::min(piece, kMax - at)), kMax);
    }
    CHECK_FALSE(chunk.whole(kMax).empty());
    CHECK(account.used() == kMax + DirtyChunk::kOverheadBytes);
  }
  DirtyChunk chunk(account, 0);
  for (std::uint32_t page = 0; page < kMax / 4096; page += 2) {
    const auto at = page * 77 % (kMax / 4096) * 4096;
    chunk.write(at, Bytes(4096, std::byte{1}), kMax);
  }
  CHECK(account.used() <= kMax + DirtyChunk::kOverheadBytes);
}

TEST_CASE("dirty_chunk: the growth of several writes bounds the memory of each of them",
          "[fs][dirty_chunk][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  constexpr std::uint32_t kMax = 300'000;
  for (int round = 0; round < 100; ++round) {
    OverlayBudget budget(64u << 20);
    OverlayBudget::Account account(budget);
    DirtyChunk chunk(account, 0);
    for (int call = 0; call < 3; ++call) {
      std::vector<Extents::Extent> writes;
      for (int i = 0; i < 8; ++i) {
        const auto begin = static_cast<std::uint32_t>(random() % (kMax - 20'000));
        writes.push_back({begin, begin + 1 + static_cast<std::uint32_t>(random() % 20'000)});
      }
      const auto most = account.used() + DirtyChunk::growth(&chunk, writes, kMax);
      for (const auto& [begin, end] : writes) {
        // The memory that a write takes, before it gives any back.
        CHECK(account.used() + growth_of(&chunk, begin, end - begin, kMax) <= most);
        chunk.write(begin, Bytes(end - begin), kMax);
      }
      CHECK(account.used() <= kMax + DirtyChunk::kOverheadBytes);
    }
  }
}

}  // namespace
}  // namespace framefs::fs::dirty_chunk_test
