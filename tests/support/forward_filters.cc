#include "tests/support/forward_filters.h"

#include <algorithm>
#include <vector>

namespace framefs::test {
namespace {

Bytes shuffle(std::span<const std::byte> block, std::size_t typesize) {
  Bytes out(block.begin(), block.end());
  const std::size_t items = block.size() / typesize;
  for (std::size_t i = 0; i < items; ++i) {
    for (std::size_t j = 0; j < typesize; ++j) out[j * items + i] = block[i * typesize + j];
  }
  return out;
}

// Rows of bits, eight items to a byte.  Items that do not fill a group of eight stay unchanged.
Bytes bitshuffle(std::span<const std::byte> block, std::size_t typesize) {
  Bytes out(block.begin(), block.end());
  const std::size_t items = block.size() / typesize / 8 * 8;
  for (std::size_t at = 0; at < items * typesize; ++at) out[at] = std::byte{0};
  for (std::size_t i = 0; i < items; ++i) {
    for (std::size_t j = 0; j < typesize; ++j) {
      for (std::size_t bit = 0; bit < 8; ++bit) {
        const bool set = ((block[i * typesize + j] >> bit) & std::byte{1}) != std::byte{0};
        if (set) out[(8 * j + bit) * (items / 8) + i / 8] |= std::byte{1} << (i % 8);
      }
    }
  }
  return out;
}

Bytes delta(std::span<const std::byte> block, std::size_t typesize,
            std::span<const std::byte> first_block) {
  std::size_t width = 1;
  if (typesize == 2 || typesize == 4 || typesize == 8) width = typesize;
  if (typesize > 8 && typesize % 8 == 0) width = 8;
  Bytes out(block.begin(), block.end());
  const std::size_t whole = block.size() / width * width;
  for (std::size_t at = 0; at < whole; ++at) {
    if (!first_block.empty()) {
      out[at] ^= first_block[at];
    } else if (at >= width) {
      out[at] ^= block[at - width];
    }
  }
  return out;
}

Bytes bytedelta(std::span<const std::byte> block, std::size_t typesize) {
  Bytes out(block.begin(), block.end());
  const std::size_t items = block.size() / typesize;
  for (std::size_t at = 0; at < items * typesize; ++at) {
    if (at % items == 0) continue;
    out[at] = static_cast<std::byte>(std::to_integer<int>(block[at]) -
                                     std::to_integer<int>(block[at - 1]));
  }
  return out;
}

}  // namespace

Bytes filter_forward(Filter filter, std::span<const std::byte> block, std::size_t typesize,
                     std::span<const std::byte> first_block) {
  switch (filter) {
    case Filter::shuffle:
      return shuffle(block, typesize);
    case Filter::bitshuffle:
      return bitshuffle(block, typesize);
    case Filter::delta:
      return delta(block, typesize, first_block);
    case Filter::bytedelta:
      return bytedelta(block, typesize);
  }
  return {};
}

Bytes ndcell_forward(std::span<const std::byte> block, std::span<const std::uint32_t> shape,
                     std::uint32_t side, std::size_t item_bytes) {
  // Sorts the items by their cell and by their position in the cell, in all dimensions.
  struct Item {
    std::vector<std::size_t> key;
    std::size_t at = 0;
  };
  std::vector<Item> items(block.size() / item_bytes);
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].at = i * item_bytes;
    items[i].key.resize(2 * shape.size());
    for (std::size_t dim = shape.size(), rest = i; dim-- > 0; rest /= shape[dim]) {
      items[i].key[dim] = rest % shape[dim] / side;
      items[i].key[shape.size() + dim] = rest % shape[dim] % side;
    }
  }
  // Not by the operator of vector: that of libstdc++ 12 compares only some bytes where numbers are
  // big-endian.
  std::ranges::sort(items, std::ranges::lexicographical_compare, &Item::key);
  Bytes out;
  for (const auto& item : items) append(out, block.subspan(item.at, item_bytes));
  return out;
}

}  // namespace framefs::test
