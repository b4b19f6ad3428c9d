#pragma once

#include <cstddef>
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

}  // namespace framefs::test
