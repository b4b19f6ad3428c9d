#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/support/bytes.h"
#include "tests/support/chunk_builder.h"

namespace framefs::test {

// Applies one filter to one block, in the simplest possible way.
// `first_block` is the unfiltered block 0 of the chunk; it is empty if `block` is block 0.
// Source: chunk format, "Filters"; shuffle.c, bitshuffle-generic.c, delta.c, bytedelta.c for the
// layouts.
Bytes filter_forward(Filter filter, std::span<const std::byte> block, std::size_t typesize,
                     std::span<const std::byte> first_block);

// Applies ndcell to one block of an array: returns its items in the order of cells of `side`.
// Source: chunk format, "Filters"; ndcell.c.
Bytes ndcell_forward(std::span<const std::byte> block, std::span<const std::uint32_t> shape,
                     std::uint32_t side, std::size_t item_bytes);

}  // namespace framefs::test
