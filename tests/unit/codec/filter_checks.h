#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/sample_data.h"

namespace framefs::codec {

// For lists of sizes in loops.
using Sizes = std::initializer_list<std::size_t>;

// All widths that have their own code, all widths near them, and some others.
inline std::vector<std::size_t> widths_to_try() {
  std::vector<std::size_t> widths;
  for (std::size_t width = 1; width <= 40; ++width) widths.push_back(width);
  for (const std::size_t width : Sizes{47, 48, 49, 63, 64, 65, 100, 200, 255})
    widths.push_back(width);
  return widths;
}

// The first position where the two differ, in bytes or in size.
inline std::optional<std::size_t> first_difference(std::span<const std::byte> a,
                                                   std::span<const std::byte> b) {
  const auto [at_a, at_b] = std::ranges::mismatch(a, b);
  if (at_a == a.end() && at_b == b.end()) return std::nullopt;
  return static_cast<std::size_t>(at_a - a.begin());
}

// Bytes given as numbers.
inline test::Bytes bytes_of(std::initializer_list<int> values) {
  test::Bytes out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

}  // namespace framefs::codec
