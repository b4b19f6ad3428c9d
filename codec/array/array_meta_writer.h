#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "codec/core/result.h"

namespace framefs::codec {

// The name of the metalayer that makes a frame an array.  It should be the first metalayer.
inline constexpr const char* kB2ndMetalayer = "b2nd";

// Encodes that metalayer: the shapes of the array, of its chunks and of their blocks, in items, and
// the NumPy name of the item type.  FrameParams::chunksize must then be the size of a chunk rounded
// up to whole blocks in every dimension, and FrameParams::blocksize the size of a block.  Chunks at
// the edges of the array have full size too.
// Errors: bad_field if the shapes differ in length or have more than 16 dimensions, an extent is
// negative, a block is larger than its chunk, a chunk or block is empty although the array is not,
// or the name of the type is empty.
// Source: array format, "b2nd" metalayer.
Result<std::vector<std::byte>> encode_b2nd_metalayer(std::span<const std::int64_t> shape,
                                                     std::span<const std::int32_t> chunkshape,
                                                     std::span<const std::int32_t> blockshape,
                                                     std::string_view dtype);

}  // namespace framefs::codec
