#pragma once

#include <cstddef>
#include <cstdint>
#include <set>

#include "tests/support/bytes.h"

namespace framefs::test {

// The content of a vl-metalayer that records which of `bits` chunks or blocks of a cache of remote
// data are there: all but `missing`.  Source: codec/FORMAT.md, "Frames without their data".
inline Bytes bitmap(std::size_t bits, const std::set<std::size_t>& missing) {
  const auto bytes = (bits + 7) / 8;
  Bytes out(2 + bytes);
  out[0] = std::byte{0xC4};
  out[1] = static_cast<std::byte>(bytes);
  for (std::size_t bit = 0; bit < bits; ++bit) {
    if (!missing.contains(bit)) out[2 + bit / 8] |= std::byte{1} << (bit % 8);
  }
  return out;
}

}  // namespace framefs::test
