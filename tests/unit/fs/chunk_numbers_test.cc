#include "fs/write/commit/chunk_numbers.h"

#include <cstdint>
#include <vector>

#include "codec/frame/chunk_space.h"
#include "tests/support/catch.h"

namespace framefs::fs::chunk_numbers_test {
namespace {

using Entries = std::vector<std::int64_t>;
using Ids = std::vector<std::uint32_t>;

TEST_CASE("chunk_numbers: a new chunk gets the lowest free number", "[fs][chunk_numbers][unit]") {
  ChunkNumbers numbers;
  numbers.begin(Entries{3, -1, 0});
  // The state before the one that was opened may have the numbers in between.
  CHECK(numbers.take(10).value() == 4);
  CHECK(numbers.take(20).value() == 5);
  CHECK(numbers.fresh().size() == 2);
  CHECK(numbers.added_bytes() == 30);
  // No state has the dropped one, so its number is free at once.
  CHECK(numbers.drop(4, 10));
  CHECK(numbers.take(5).value() == 4);
  CHECK(numbers.added_bytes() == 25);
  numbers.commit();
  CHECK(numbers.take(10).value() == 1);
  CHECK(numbers.take(10).value() == 2);
  CHECK(numbers.take(10).value() == 6);
}

TEST_CASE("chunk_numbers: a number of another file is not taken again",
          "[fs][chunk_numbers][unit]") {
  ChunkNumbers numbers;
  numbers.begin({});
  CHECK(numbers.take(10).value() == 0);
  numbers.reject(0);
  CHECK(numbers.added_bytes() == 0);
  CHECK(numbers.take(10).value() == 1);
}

TEST_CASE("chunk_numbers: a number of a committed state is free after two more commits",
          "[fs][chunk_numbers][unit]") {
  ChunkNumbers numbers;
  numbers.begin(Entries{0, 1});
  CHECK_FALSE(numbers.drop(0, 100));
  CHECK(numbers.added_bytes() == -100);
  CHECK(numbers.take(10).value() == 2);
  numbers.commit();
  CHECK(numbers.added_bytes() == 0);
  CHECK(numbers.fresh().empty());
  CHECK(numbers.take_removable().empty());
  CHECK(numbers.take(10).value() == 3);
  numbers.commit();
  CHECK(numbers.take_removable() == Ids{0});
  CHECK(numbers.take_removable().empty());
  CHECK(numbers.take(10).value() == 0);
}

TEST_CASE("chunk_numbers: files that chunks share are never given up",
          "[fs][chunk_numbers][unit]") {
  ChunkNumbers numbers;
  numbers.begin(Entries{0, 0, 1});
  CHECK(numbers.are_shared());
  CHECK_FALSE(numbers.drop(1, 100));
  CHECK(numbers.added_bytes() == 0);
  numbers.commit();
  CHECK(numbers.take_dead().empty());
  numbers.commit();
  CHECK(numbers.take_removable().empty());
  CHECK(numbers.take(10).value() == 2);
}

TEST_CASE("chunk_numbers: there is a largest number", "[fs][chunk_numbers][unit]") {
  constexpr auto kLargest = static_cast<std::int64_t>(codec::kMaxChunkFileId);
  ChunkNumbers numbers;
  numbers.begin(Entries{kLargest});
  const auto refused = numbers.take(10);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == codec::Errc::over_limit);
  CHECK(numbers.added_bytes() == 0);
  numbers.commit();
  CHECK(numbers.take(10).value() == 0);
  ChunkNumbers beyond;
  beyond.begin(Entries{kLargest + 1});
  CHECK(beyond.are_shared());
}

}  // namespace
}  // namespace framefs::fs::chunk_numbers_test
