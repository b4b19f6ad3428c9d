#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace framefs::codec {

inline constexpr std::size_t kMaxCellDims = 8;

// Reverses ndcell and ndmean: `from` holds the block cell by cell, and `to` receives the block.  A
// cell has `side` items in every dimension, or fewer at the block's far edges.  Cells, and the
// items in a cell, are in C order.
// `shape` has 1 to kMaxCellDims dimensions, none of them 0.  Both buffers have the number of items
// in `shape`, of `item_bytes` each, and do not overlap.  side > 0.  Threads: any.
// Source: chunk format, "Filters"; ndcell.c, ndmean.c.
void unndcell(std::span<const std::uint32_t> shape, std::uint32_t side, std::size_t item_bytes,
              std::span<const std::byte> from, std::span<std::byte> to);

}  // namespace framefs::codec
