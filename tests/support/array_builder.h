#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/frame_builder.h"

namespace framefs::test {

// An array, its division into chunks and blocks, and the encoding of the chunks.
struct ArraySpec {
  std::vector<std::uint64_t> shape;
  std::vector<std::uint32_t> chunkshape;
  std::vector<std::uint32_t> blockshape;
  std::string dtype = "|u1";
  std::uint32_t typesize = 1;
  ChunkSpec chunk;  // typesize and blocksize are taken from the members above
  // The content of chunks and blocks beyond the end of the array.
  std::byte padding{0xa5};
};

// The size of the array.  Units: bytes.
std::uint64_t array_bytes(const ArraySpec& spec);

// The chunk that holds an item of the array.  Items are counted in C order.
std::uint64_t chunk_of_item(const ArraySpec& spec, std::uint64_t item);

// The decoded content of each chunk, in chunk order.  The function copies `data`, the array in C
// order, item by item to the positions that the format defines.
// Source: array format, "Layout".
std::vector<Bytes> cut_array(const ArraySpec& spec, std::span<const std::byte> data);

// The inverse: `chunks` holds all decoded chunks, one after the other.  Returns the array in C
// order.
Bytes gather_array(const ArraySpec& spec, std::span<const std::byte> chunks);

// The header of the array's frame, including its metalayer, without chunks.
FrameSpec array_frame_header(const ArraySpec& spec);

// A frame of the array, for build_frame() and similar functions: the metalayer and one stored chunk
// for each result of cut_array().
FrameSpec array_frame(const ArraySpec& spec, std::span<const std::byte> data);

}  // namespace framefs::test
