#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/support/bytes.h"
#include "tests/support/chunk_builder.h"

namespace framefs::test {

// Runs one filter forward over one block, as plainly as it can be written.
// `first_block` is the unfiltered block 0 of the chunk, empty where `block` is itself the first.
// Source: chunk format, "Filters"; shuffle.c, bitshuffle-generic.c, delta.c, bytedelta.c for the
// layouts.
Bytes filter_forward(Filter filter, std::span<const std::byte> block, std::size_t typesize,
                     std::span<const std::byte> first_block);

// Runs ndcell forward over one block of an array: its items in the order of cells of `side`.
// Source: chunk format, "Filters"; ndcell.c.
Bytes ndcell_forward(std::span<const std::byte> block, std::span<const std::uint32_t> shape,
                     std::uint32_t side, std::size_t item_bytes);

}  // namespace framefs::test
