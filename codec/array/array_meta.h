#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "codec/core/limits.h"
#include "codec/core/result.h"

namespace framefs::codec {

// The content of a frame's array metalayer: the shape of the array, of its chunks and of their
// blocks, all in items.  The size of an item is the frame's typesize, because the dtype need not
// agree with it.  Whether the frame has the chunks that the array needs is checked by
// ArrayLayout::make().
// Source: array format, "Metalayer"; codec/FORMAT.md.
struct ArrayMeta {
  std::uint8_t ndim = 0;  // 0: a single item; the number of entries in use below, the others are 0
  std::array<std::uint64_t, kMaxDims> shape{};
  // In a dimension that has items, 0 < blockshape <= chunkshape.  In a dimension without items both
  // may have any value, including 0.  Both may exceed the shape.
  std::array<std::uint32_t, kMaxDims> chunkshape{};
  std::array<std::uint32_t, kMaxDims> blockshape{};
  std::uint8_t dtype_format = 0;  // how to read the dtype; 0: NumPy's notation
  std::string dtype;              // as stored, any bytes; empty if there is none

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

// Parses the content of a "b2nd" metalayer, or of a "caterva" metalayer, which ends before the
// dtype.  Like the reference library, the parser ignores the markers, the version, and bytes after
// the end.
//
// Guarantees of a successful parse, where a dimension of 0 counts as 1: the products of the shape,
// and of the shape rounded up to whole chunks, fit in std::int64_t.  The products of the chunkshape
// and of the blockshape fit in std::int32_t.  Hence the product of the chunkshape rounded up to
// whole blocks is below 2^47.
// Errors: truncated, bad_field, with offsets from the content's start.
// Source: array format, "Metalayer"; b2nd.c, b2nd_deserialize_meta().
Result<ArrayMeta> parse_array_meta(std::span<const std::byte> content);

}  // namespace framefs::codec
