#include "codec/filter/delta.h"

#include "tests/support/catch.h"
#include "tests/unit/codec/filter_checks.h"

namespace framefs::codec::delta_test {
namespace {

using test::Bytes;

// Oracle: the format's rules, applied element by element.
std::size_t element_by_rule(std::size_t typesize) {
  if (typesize == 1 || typesize == 2 || typesize == 4 || typesize == 8) return typesize;
  return typesize % 8 == 0 ? 8 : 1;
}

Bytes first_block_by_rule(std::size_t typesize, Bytes block) {
  const std::size_t e = element_by_rule(typesize);
  for (std::size_t i = 1; i < block.size() / e; ++i) {
    for (std::size_t k = 0; k < e; ++k) block[i * e + k] ^= block[(i - 1) * e + k];
  }
  return block;
}

Bytes block_by_rule(std::size_t typesize, Bytes block, const Bytes& reference) {
  const std::size_t e = element_by_rule(typesize);
  for (std::size_t x = 0; x < block.size() / e * e; ++x) block[x] ^= reference[x];
  return block;
}

Bytes first_undone(std::size_t typesize, Bytes block) {
  undelta_first_block(typesize, block);
  return block;
}

Bytes undone(std::size_t typesize, Bytes block, const Bytes& reference) {
  undelta_block(typesize, block, reference);
  return block;
}

TEST_CASE("delta: elements of the first block build on the one before", "[codec][delta][unit]") {
  CHECK(first_undone(1, bytes_of({1, 2, 4, 8})) == bytes_of({1, 3, 7, 15}));
  CHECK(first_undone(2, bytes_of({1, 0x10, 2, 0x20, 4})) == bytes_of({1, 0x10, 3, 0x30, 4}));
  CHECK(first_undone(4, bytes_of({1, 2, 3, 4, 1, 1, 1, 1, 7})) ==
        bytes_of({1, 2, 3, 4, 0, 3, 2, 5, 7}));
  CHECK(first_undone(8, bytes_of({1, 0, 0, 0, 0, 0, 0, 9, 3, 0, 0, 0, 0, 0, 0, 1})) ==
        bytes_of({1, 0, 0, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 0, 0, 8}));
}

TEST_CASE("delta: elements are of eight bytes when the typesize is a multiple, else of one",
          "[codec][delta][unit]") {
  const auto block = bytes_of({1, 2, 3, 4, 5, 6, 7, 8, 1, 1, 1, 1, 1, 1, 1, 1, 0x50});
  const auto by_eight = bytes_of({1, 2, 3, 4, 5, 6, 7, 8, 0, 3, 2, 5, 4, 7, 6, 9, 0x50});
  CHECK(first_undone(16, block) == by_eight);
  CHECK(first_undone(24, block) == by_eight);
  CHECK(first_undone(12, bytes_of({1, 2, 4})) == bytes_of({1, 3, 7}));
  CHECK(first_undone(255, bytes_of({1, 2, 4})) == bytes_of({1, 3, 7}));
}

TEST_CASE("delta: a later block builds on the first", "[codec][delta][unit]") {
  const auto reference = bytes_of({0xf0, 0xf1, 0xf2, 0xf3, 0xf4});
  CHECK(undone(1, bytes_of({1, 2, 3, 4, 5}), reference) ==
        bytes_of({0xf1, 0xf3, 0xf1, 0xf7, 0xf1}));
  CHECK(undone(2, bytes_of({1, 2, 3}), reference) == bytes_of({0xf1, 0xf3, 3}));
  CHECK(undone(4, bytes_of({1, 2, 3, 4, 5}), reference) == bytes_of({0xf1, 0xf3, 0xf1, 0xf7, 5}));
}

TEST_CASE("delta: bytes beyond a short reference stay", "[codec][delta][unit]") {
  CHECK(undone(1, bytes_of({1, 2, 3}), bytes_of({0xf0})) == bytes_of({0xf1, 2, 3}));
  CHECK(undone(2, bytes_of({1, 2, 3, 4}), bytes_of({0xf0, 0xf0, 0xf0})) ==
        bytes_of({0xf1, 0xf2, 3, 4}));
  CHECK(undone(1, bytes_of({1, 2}), Bytes{}) == bytes_of({1, 2}));
}

TEST_CASE("delta: blocks of any length follow the rules", "[codec][delta][unit]") {
  for (const std::size_t typesize : widths_to_try()) {
    for (std::size_t size = 0; size <= 300; ++size) {
      INFO("typesize " << typesize << ", " << size << " bytes");
      const auto block = test::noise(size, static_cast<std::uint32_t>(size));
      const auto reference = test::noise(size + size % 3, 77);
      const auto first =
          first_difference(first_undone(typesize, block), first_block_by_rule(typesize, block));
      const auto later = first_difference(undone(typesize, block, reference),
                                          block_by_rule(typesize, block, reference));
      if (first) FAIL("first block, byte " << *first);
      if (later) FAIL("later block, byte " << *later);
    }
  }
  SUCCEED("all agreed");
}

}  // namespace
}  // namespace framefs::codec::delta_test
