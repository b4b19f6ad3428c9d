#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/support/sparse_frame_builder.h"

namespace framefs::fuzz {

// Takes the next `size` bytes of the input, or the rest of it.
inline std::span<const std::byte> take(std::span<const std::byte>& input, std::size_t size) {
  const auto head = input.first(std::min(size, input.size()));
  input = input.subspan(head.size());
  return head;
}

inline std::uint32_t take_number(std::span<const std::byte>& input, std::size_t width) {
  std::uint32_t value = 0;
  for (const std::byte b : take(input, width)) {
    value = value << 8 | std::to_integer<std::uint32_t>(b);
  }
  return value;
}

// The files of a sparse frame.  The input has two bytes for the size of the index file, then the
// file.  For each chunk file, one byte stands for its number and two for its size; the file
// follows.  Sizes are big-endian.  The last few numbers stand for the largest possible ones.
//
// The copies have their exact size, so that the address sanitizer detects the first byte beyond
// them.
inline test::BuiltSparseFrame take_sparse_frame(std::span<const std::byte> input) {
  constexpr std::uint32_t kFirstLarge = 0xf0;
  test::BuiltSparseFrame frame;
  const auto index_bytes = take_number(input, 2);
  const auto index = take(input, index_bytes);
  frame.index_file.assign(index.begin(), index.end());
  while (!input.empty()) {
    const auto number = take_number(input, 1);
    const auto chunk_bytes = take_number(input, 2);
    const auto chunk = take(input, chunk_bytes);
    frame.chunks[number < kFirstLarge ? number : 0xffffff00U | number] =
        test::Bytes(chunk.begin(), chunk.end());
  }
  return frame;
}

}  // namespace framefs::fuzz
