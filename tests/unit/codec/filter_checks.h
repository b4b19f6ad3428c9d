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

// A list of sizes to write down in a loop.
using Sizes = std::initializer_list<std::size_t>;

// The widths that have code of their own, every one near them, and some far off.
inline std::vector<std::size_t> widths_to_try() {
  std::vector<std::size_t> widths;
  for (std::size_t width = 1; width <= 40; ++width) widths.push_back(width);
  for (const std::size_t width : Sizes{47, 48, 49, 63, 64, 65, 100, 200, 255})
    widths.push_back(width);
  return widths;
}

// The first place where the two differ; their sizes count too.
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
