#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "codec/array/array_layout.h"
#include "codec/array/array_meta.h"

namespace framefs::test {

// The geometry of an array.
struct ArrayShape {
  std::vector<std::uint64_t> shape = {};
  std::vector<std::uint32_t> chunkshape = {};
  std::vector<std::uint32_t> blockshape = {};
  std::uint32_t typesize = 1;
};

codec::ArrayMeta array_meta(const ArrayShape& array);

// The chunks of a frame that fits the array.
codec::FrameExtent frame_extent(const ArrayShape& array);

// The layout of an array that fits its frame.
codec::ArrayLayout array_layout(const ArrayShape& array);

// The position of one byte of an array.
struct BytePlace {
  std::uint64_t chunk = 0;
  std::uint64_t block = 0;
  std::uint64_t within = 0;
  auto operator<=>(const BytePlace&) const = default;
};

// The position of each byte in C order, computed with the format's formula.
// Source: array format, "Layout".
std::vector<BytePlace> byte_places(const ArrayShape& array);

// A small array of up to five dimensions; some dimensions have no items.  Shapes are multiples of
// chunks, and chunks of blocks, only by chance.  At most a few thousand bytes.
ArrayShape random_array(std::mt19937& random);

// A text for the message of a failing test.
std::string describe(const ArrayShape& array);

}  // namespace framefs::test
