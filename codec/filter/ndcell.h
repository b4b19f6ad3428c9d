#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace framefs::codec {

inline constexpr std::size_t kMaxCellDims = 8;

// Undoes ndcell and ndmean: `from` is the block cell by cell, `to` becomes the block.  A cell has
// `side` items in every dimension, or what is left of them at the block's far edges; cells, and the
// items of each, stand in C order.
// `shape` has 1 to kMaxCellDims dimensions, none of them 0; both buffers are of as many items, of
// `item_bytes` each, and do not overlap; side > 0.  Threads: any.
// Source: chunk format, "Filters"; ndcell.c, ndmean.c.
void unndcell(std::span<const std::uint32_t> shape, std::uint32_t side, std::size_t item_bytes,
              std::span<const std::byte> from, std::span<std::byte> to);

}  // namespace framefs::codec
