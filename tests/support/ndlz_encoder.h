#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <span>

#include "tests/support/bytes.h"

namespace framefs::test {

// Which of an NDLZ stream's ways to write a cell were taken, by their token.
using TokenCount = std::map<std::uint8_t, int>;

// Encodes a plane of bytes as one NDLZ stream of cells of `side` (4 or 8).  Where a cell can be
// written in several ways, `random` chooses; a reference may lead anywhere into the stream before
// the token.  `count`, where given, is told the tokens.
// Source: chunk format, "Plugin codecs", NDLZ.
Bytes encode_ndlz(std::span<const std::byte> plane, std::array<std::uint32_t, 2> shape,
                  std::size_t side, std::mt19937& random, TokenCount* count = nullptr);

// A plane in which rows of cells come again: every way of writing a cell is of use somewhere.
Bytes repetitive_plane(std::array<std::uint32_t, 2> shape, std::mt19937& random);

}  // namespace framefs::test
