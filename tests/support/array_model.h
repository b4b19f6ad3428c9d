#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "codec/array/array_layout.h"
#include "codec/array/array_meta.h"

namespace framefs::test {

// An array's geometry, before anything is worked out from it.
struct ArrayShape {
  std::vector<std::uint64_t> shape = {};
  std::vector<std::uint32_t> chunkshape = {};
  std::vector<std::uint32_t> blockshape = {};
  std::uint32_t typesize = 1;
};

codec::ArrayMeta array_meta(const ArrayShape& array);

// What a frame that fits the array says of its chunks.
codec::FrameExtent frame_extent(const ArrayShape& array);

// The layout of an array that fits its frame.
codec::ArrayLayout array_layout(const ArrayShape& array);

// Where one byte of an array lies.
struct BytePlace {
  std::uint64_t chunk = 0;
  std::uint64_t block = 0;
  std::uint64_t within = 0;
  auto operator<=>(const BytePlace&) const = default;
};

// The place of each byte in C order, every one of them by the format's formula.
// Source: array format, "Layout".
std::vector<BytePlace> byte_places(const ArrayShape& array);

// A small array of up to five dimensions, some of no items, none a multiple of its chunks or these of
// their blocks but by chance.  At most a few thousand bytes.
ArrayShape random_array(std::mt19937& random);

// For the message of a test that fails.
std::string describe(const ArrayShape& array);

}  // namespace framefs::test
