#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "codec/core/checked.h"
#include "codec/core/limits.h"

namespace framefs::codec {

// The shape of the blocks that the chunks of an array are divided into.  Units: items.
struct BlockShape {
  std::uint8_t ndim = 0;  // at most kMaxDims; the number of entries of `dims` in use
  std::array<std::uint32_t, kMaxDims> dims{};

  [[nodiscard]] std::span<const std::uint32_t> used_dims() const noexcept {
    return std::span(dims).first(ndim);
  }
};

// The decoded size of one block, or nothing where it overflows.  Units: bytes.
[[nodiscard]] inline std::optional<std::uint64_t> block_bytes(const BlockShape& shape,
                                                              std::uint32_t typesize) noexcept {
  std::optional<std::uint64_t> bytes = typesize;
  for (const auto dim : shape.used_dims()) multiply(bytes, dim);
  return bytes;
}

}  // namespace framefs::codec
