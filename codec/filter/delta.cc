#include "codec/filter/delta.h"

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "codec/core/word.h"

namespace framefs::codec {
namespace {

// Source: codec/FORMAT.md, "Filters"; delta.c.
std::size_t element_bytes(std::size_t typesize) {
  if (typesize == 1 || typesize == 2 || typesize == 4) return typesize;
  return typesize % 8 == 0 ? 8 : 1;
}

// Replaces each element with the XOR of all elements up to and including it, eight bytes at a time.
// Within a word, each step doubles the reach of the XOR.  Between words, a running word holds the
// last element in every position, so that the dependency is a single operation.
template <std::size_t kElement>
void prefix_xor(std::byte* data, std::size_t size) {
  constexpr std::size_t kBits = 8 * kElement;
  constexpr std::uint64_t kEveryPlace = ~std::uint64_t{0} / (~std::uint64_t{0} >> (64 - kBits));
  std::uint64_t before = 0;
  std::size_t at = 0;
  for (; size - at >= sizeof(before); at += sizeof(before)) {
    std::uint64_t word = load_word(data + at);
    for (std::size_t shift = kBits; shift < 64; shift *= 2) word ^= word << shift;
    store_word(data + at, word ^ before);
    before ^= (word >> (64 - kBits)) * kEveryPlace;
  }
  const std::size_t whole = size / kElement * kElement;
  for (at = std::max(at, kElement); at < whole; ++at) data[at] ^= data[at - kElement];
}

}  // namespace

void undelta_first_block(std::size_t typesize, std::span<std::byte> block) {
  assert(typesize > 0);
  switch (element_bytes(typesize)) {
    case 1:
      return prefix_xor<1>(block.data(), block.size());
    case 2:
      return prefix_xor<2>(block.data(), block.size());
    case 4:
      return prefix_xor<4>(block.data(), block.size());
    default:
      return prefix_xor<8>(block.data(), block.size());
  }
}

void undelta_block(std::size_t typesize, std::span<std::byte> block,
                   std::span<const std::byte> reference) {
  assert(typesize > 0);
  const std::size_t element = element_bytes(typesize);
  const std::size_t n = std::min(block.size(), reference.size()) / element * element;
  // Plain pointers, so that the compiler vectorises the loop.
  std::byte* to = block.data();
  const std::byte* from = reference.data();
  for (std::size_t i = 0; i < n; ++i) to[i] ^= from[i];
}

}  // namespace framefs::codec
