#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "codec/core/result.h"
#include "codec/frame/metalayer.h"

namespace framefs::codec {

// Encodes the content of a vl-metalayer as a chunk.
// Errors: over_limit if the content exceeds the largest chunk; system, if memory runs out.
Result<std::vector<std::byte>> encode_vlmetalayer(std::span<const std::byte> plain);

// Encodes a frame's trailer.  Each content is a chunk, from encode_vlmetalayer() or from another
// frame.
// Errors: errors of append_metalayers().
// Source: frame format, "Trailer".
Result<std::vector<std::byte>> encode_trailer(std::span<const NamedContent> vlmetalayers);

}  // namespace framefs::codec
