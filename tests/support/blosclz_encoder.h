#pragma once

#include <cstddef>
#include <span>

#include "tests/support/bytes.h"

namespace framefs::test {

inline constexpr std::size_t kBlosclzShortestMatch = 3;
inline constexpr std::size_t kBlosclzLongestDistance = 8192 + 65535;

// The operations a BloscLZ stream consists of; any number of literals, as runs of 32 at the most.
void append_blosclz_literals(Bytes& stream, std::span<const std::byte> literals);
void append_blosclz_match(Bytes& stream, std::size_t length, std::size_t distance);

// Compresses with whatever repetition a hash table of four-byte words happens to show: streams of
// every kind of operation, not small ones.  The result may be longer than `plain`, and is empty
// where that is.
// Source: chunk format, BloscLZ streams.
Bytes blosclz_encode(std::span<const std::byte> plain);

}  // namespace framefs::test
