#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "codec/core/result.h"

namespace framefs::codec {

// The metalayer that makes a frame an array goes by this name, and should be the first.
inline constexpr const char* kB2ndMetalayer = "b2nd";

// Its content: the array's extents, those of its chunks and of their blocks, in items, and the NumPy
// name of an item's type.  FrameParams' chunksize is then that of a chunk rounded up to whole blocks
// in every dimension, and its blocksize that of a block; chunks at the edges have full size too.
// Errors: bad_field where the three differ in number or have more than 16 dimensions, an extent is
//   negative, a block is larger than its chunk, a chunk or block is empty though the array is not, or
//   the type's name is empty.
// Source: array format, "b2nd" metalayer.
Result<std::vector<std::byte>> encode_b2nd_metalayer(std::span<const std::int64_t> shape,
                                                     std::span<const std::int32_t> chunkshape,
                                                     std::span<const std::int32_t> blockshape,
                                                     std::string_view dtype);

}  // namespace framefs::codec
