#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codec/chunk/chunk_header.h"
#include "codec/chunk/encode_params.h"
#include "codec/core/result.h"

namespace framefs::codec {

// The index entry of a chunk that is not stored: zeros, NaNs or uninitialised bytes.  The entry of
// a stored chunk is its offset from the end of the header or, in a sparse frame, its file number.
// Source: frame format, "Index".
std::int64_t index_code(Special rule) noexcept;

inline constexpr std::uint32_t kIndexEntryBytes = sizeof(std::int64_t);
// Readers look up single entries, so the block to decode for one entry is kept small.  A constant,
// so that a longer index still has the blocks of a shorter one.
inline constexpr std::uint32_t kIndexBlockBytes = 16384;
// The parameters of an index chunk.
EncodeParams index_params();
// Writes entries as an index chunk holds them.  `to` has room for kIndexEntryBytes each.
void store_entries(std::span<const std::int64_t> entries, std::span<std::byte> to) noexcept;

// Encodes a frame's index as a chunk.  `entries` is not empty.
// Errors: over_limit for more entries than a frame may have; system, if memory runs out.
Result<std::vector<std::byte>> encode_index(std::span<const std::int64_t> entries);

}  // namespace framefs::codec
