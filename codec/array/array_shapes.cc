#include "codec/array/array_shapes.h"

#include <algorithm>
#include <limits>

namespace framefs::codec {
namespace {

using Dims = std::vector<std::uint64_t>;

// The factor by which the last dimension may be longer than the others.
constexpr std::uint64_t kLastWeight = 4;

std::uint64_t product(const Dims& dims) {
  std::uint64_t items = 1;
  for (const auto extent : dims) {
    // A product above every limit needs no exact value.
    if (items > std::numeric_limits<std::uint64_t>::max() / std::max<std::uint64_t>(extent, 1)) {
      return std::numeric_limits<std::uint64_t>::max();
    }
    items *= extent;
  }
  return items;
}

// Halves the longest dimension until the product is at most `most` items.
Dims shrink(Dims dims, std::uint64_t most) {
  while (product(dims) > most) {
    const auto weight = [&](std::size_t i) {
      return i + 1 == dims.size() ? dims[i] / kLastWeight : dims[i];
    };
    std::size_t longest = dims.size() - 1;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] > 1 && (dims[longest] == 1 || weight(i) > weight(longest))) longest = i;
    }
    if (dims[longest] == 1) break;
    dims[longest] = (dims[longest] + 1) / 2;
  }
  return dims;
}

}  // namespace

ArrayShapes choose_array_shapes(std::span<const std::uint64_t> shape, std::uint32_t typesize,
                                std::uint64_t chunk_bytes, std::uint64_t block_bytes) {
  const Dims whole(shape.begin(), shape.end());
  const auto items_in = [typesize](std::uint64_t bytes) {
    return std::max<std::uint64_t>(bytes / typesize, 1);
  };
  auto chunk = shrink(whole, items_in(chunk_bytes));
  const auto block = shrink(chunk, items_in(std::min(block_bytes, chunk_bytes)));
  // In a dimension where the array is larger than the chunk, the chunk is a multiple of the block.
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    if (chunk[i] < whole[i]) chunk[i] = std::max(chunk[i] / block[i] * block[i], block[i]);
  }
  ArrayShapes shapes;
  for (const auto extent : chunk) shapes.chunk.push_back(static_cast<std::int32_t>(extent));
  for (const auto extent : block) shapes.block.push_back(static_cast<std::int32_t>(extent));
  return shapes;
}

}  // namespace framefs::codec
