#include "codec/frame/chunk_space.h"

#include <cstdint>
#include <limits>

#include "tests/support/catch.h"

namespace framefs::codec::chunk_space_test {
namespace {

constexpr std::uint64_t kShare = std::uint64_t{1} << 31;

TEST_CASE("chunk_space: every file has its own 2 GiB, in the order of the ids",
          "[codec][chunk_space][unit]") {
  CHECK(chunk_file_at(0) == 0);
  CHECK(chunk_file_at(1) == kShare);
  CHECK(chunk_file_at(0xffffffff) == 0xffffffff * kShare);
  // The end of the last file does not overflow.
  CHECK(chunk_file_at(0xffffffff) <= std::numeric_limits<std::uint64_t>::max() - kShare);
}

TEST_CASE("chunk_space: a place is found again", "[codec][chunk_space][unit]") {
  for (const std::uint32_t id : {0U, 1U, 2U, 0x7fffffffU, 0x80000000U, 0xfffffffeU, 0xffffffffU}) {
    for (const std::uint64_t offset :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4096}, kShare - 2, kShare - 1}) {
      CAPTURE(id, offset);
      const auto place = chunk_file_place(chunk_file_at(id) + offset);
      CHECK(place.id == id);
      CHECK(place.offset == offset);
    }
  }
}

// A chunk's size is a signed 32-bit number, so no offset in a chunk reaches the next file.
TEST_CASE("chunk_space: the largest chunk fits into its share", "[codec][chunk_space][unit]") {
  const std::uint64_t most = std::numeric_limits<std::int32_t>::max();
  CHECK(chunk_file_place(chunk_file_at(7) + most).id == 7);
}

}  // namespace
}  // namespace framefs::codec::chunk_space_test
