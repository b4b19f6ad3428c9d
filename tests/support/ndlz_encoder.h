#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <span>

#include "tests/support/bytes.h"

namespace framefs::test {

// Counts cells by token, to show which ways of writing a cell a stream uses.
using TokenCount = std::map<std::uint8_t, int>;

// Encodes a plane of bytes as one NDLZ stream of cells of `side` (4 or 8).  If a cell can be
// written in several ways, `random` chooses; a reference may point anywhere in the stream before
// the token.  `count`, if given, counts the tokens.
// Source: chunk format, "Plugin codecs", NDLZ.
Bytes encode_ndlz(std::span<const std::byte> plane, std::array<std::uint32_t, 2> shape,
                  std::size_t side, std::mt19937& random, TokenCount* count = nullptr);

// A plane in which rows of cells repeat, so that every way of writing a cell is used somewhere.
Bytes repetitive_plane(std::array<std::uint32_t, 2> shape, std::mt19937& random);

}  // namespace framefs::test
