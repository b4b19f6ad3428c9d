#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codec/chunk/chunk_header.h"
#include "codec/core/result.h"

namespace framefs::codec {

// The index entry of a chunk that is not stored: zeros, NaNs or uninitialised bytes.  Other chunks
// have the distance from the header's end, or in sparse frames the number of their file.
// Source: frame format, "Index".
std::int64_t index_code(Special rule) noexcept;

// A frame's index as the chunk that is stored.  `entries` are not empty.
// Errors: over_limit for more entries than a frame may have; system, where there is no memory.
Result<std::vector<std::byte>> encode_index(std::span<const std::int64_t> entries);

}  // namespace framefs::codec
