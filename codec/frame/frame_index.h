#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codec/chunk/chunk_header.h"
#include "codec/core/result.h"

namespace framefs::codec {

// The index entry of a chunk that is not stored: zeros, NaNs or uninitialised bytes.  The entry of
// a stored chunk is its offset from the end of the header or, in a sparse frame, its file number.
// Source: frame format, "Index".
std::int64_t index_code(Special rule) noexcept;

// Encodes a frame's index as a chunk.  `entries` is not empty.
// Errors: over_limit for more entries than a frame may have; system, if memory runs out.
Result<std::vector<std::byte>> encode_index(std::span<const std::int64_t> entries);

}  // namespace framefs::codec
