#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/frame_builder.h"

namespace framefs::test {

// An array, how it is cut into chunks and blocks, and how those are stored.
struct ArraySpec {
  std::vector<std::uint64_t> shape;
  std::vector<std::uint32_t> chunkshape;
  std::vector<std::uint32_t> blockshape;
  std::string dtype = "|u1";
  std::uint32_t typesize = 1;
  ChunkSpec chunk;  // its typesize and blocksize are set by the rest
  // What chunks and blocks have where the array has ended.
  std::byte padding{0xa5};
};

// Units: bytes.
std::uint64_t array_bytes(const ArraySpec& spec);

// Which chunk an item of the array is in.  Items are counted in C order.
std::uint64_t chunk_of_item(const ArraySpec& spec, std::uint64_t item);

// What each chunk holds decoded, in chunk order: `data`, the array in C order, put item by item to
// where the format has it.
// Source: array format, "Layout".
std::vector<Bytes> cut_array(const ArraySpec& spec, std::span<const std::byte> data);

// The other way round: the array in C order, out of what `chunks` has: all chunks, decoded, one after
// the other.
Bytes gather_array(const ArraySpec& spec, std::span<const std::byte> chunks);

// What the header of the array's frame says, its metalayer included, without a chunk.
FrameSpec array_frame_header(const ArraySpec& spec);

// A frame of the array, for build_frame() and its like: the metalayer and one stored chunk for each of
// cut_array().
FrameSpec array_frame(const ArraySpec& spec, std::span<const std::byte> data);

}  // namespace framefs::test
