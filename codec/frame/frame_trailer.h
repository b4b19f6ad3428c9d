#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codec/core/result.h"
#include "codec/frame/metalayer.h"

namespace framefs::codec {

// Where the map of metalayers begins in a trailer.
inline constexpr std::size_t kTrailerMapAt = 2;
// The msgpack marker before the trailer's length.
inline constexpr std::uint8_t kMarkerUint32 = 0xCE;

// Encodes the content of a vl-metalayer as a chunk.
// Errors: over_limit if the content exceeds the largest chunk; system, if memory runs out.
Result<std::vector<std::byte>> encode_vlmetalayer(std::span<const std::byte> plain);

// Encodes a frame's trailer.  Each content is a chunk, from encode_vlmetalayer() or from another
// frame.
// Errors: errors of append_metalayers().
// Source: frame format, "Trailer".
Result<std::vector<std::byte>> encode_trailer(std::span<const NamedContent> vlmetalayers);

}  // namespace framefs::codec
