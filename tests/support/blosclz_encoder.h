#pragma once

#include <cstddef>
#include <span>

#include "tests/support/bytes.h"

namespace framefs::test {

inline constexpr std::size_t kBlosclzShortestMatch = 3;
inline constexpr std::size_t kBlosclzLongestDistance = 8192 + 65535;

// Append operations of a BloscLZ stream.  Literals are written in runs of at most 32.
void append_blosclz_literals(Bytes& stream, std::span<const std::byte> literals);
void append_blosclz_match(Bytes& stream, std::size_t length, std::size_t distance);

// Compresses with the matches that a hash table of four-byte words finds.  The streams have every
// kind of operation but are not small.  The result may be longer than `plain`; it is empty if
// `plain` is.
// Source: chunk format, BloscLZ streams.
Bytes blosclz_encode(std::span<const std::byte> plain);

}  // namespace framefs::test
