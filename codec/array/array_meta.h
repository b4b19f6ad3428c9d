#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "codec/core/limits.h"
#include "codec/core/result.h"

namespace framefs::codec {

// What a frame's array metalayer says: the shape of the array, and how it is cut into chunks and
// those into blocks.  All in items; how large an item is only the frame knows (its typesize), since
// the dtype need not agree with it.  That the frame has the chunks this asks for is for whoever
// lays the array out to check.
// Source: array format, "Metalayer"; codec/FORMAT.md.
struct ArrayMeta {
  std::uint8_t ndim = 0;  // 0: one item; so many entries of the arrays below count, the rest is 0
  std::array<std::uint64_t, kMaxDims> shape{};
  // In a dimension that has items, 0 < blockshape <= chunkshape; in one of no items both may be
  // anything, 0 included.  Either may exceed the shape.
  std::array<std::uint32_t, kMaxDims> chunkshape{};
  std::array<std::uint32_t, kMaxDims> blockshape{};
  std::uint8_t dtype_format = 0;  // how to read the dtype; 0: as NumPy writes it
  std::string dtype;              // as stored, any bytes; empty where none is

  [[nodiscard]] std::span<const std::uint64_t> array_dims() const noexcept {
    return std::span(shape).first(ndim);
  }
  [[nodiscard]] std::span<const std::uint32_t> chunk_dims() const noexcept {
    return std::span(chunkshape).first(ndim);
  }
  [[nodiscard]] std::span<const std::uint32_t> block_dims() const noexcept {
    return std::span(blockshape).first(ndim);
  }
};

// Reads the content of a "b2nd" metalayer, or of a "caterva" one, which ends before the dtype.
// As in the reference library, markers and version are not looked at, and bytes after the end are
// ignored.
//
// Products that then fit, dimensions of 0 counting as 1: of the shape, and of the shape rounded up
// to whole chunks, in std::int64_t; of the chunkshape, and of the blockshape, in std::int32_t; so
// that of the chunkshape rounded up to whole blocks is below 2^47.
// Errors: truncated, bad_field, with offsets from the content's start.
// Source: array format, "Metalayer"; b2nd.c, b2nd_deserialize_meta().
Result<ArrayMeta> parse_array_meta(std::span<const std::byte> content);

}  // namespace framefs::codec
