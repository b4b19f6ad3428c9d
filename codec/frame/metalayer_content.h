#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/core/result.h"
#include "codec/frame/metalayer.h"

namespace framefs::codec {

// The contents of metalayers.  An open frame has only their places: contents may be large, and are
// read when a caller asks.  In the header they are plain bytes, in the trailer each is a chunk.
// Offsets of errors count from the frame's start.

// Checks that each content in a trailer, which begins at `trailer_at` of the frame, is one whole
// chunk by its header.  Decodes nothing.
// Errors: those of parse_chunk_header(); bad_field for a chunk of another size than the content;
// those of the source.
Status check_vlmetalayers(const ByteSource& trailer, std::uint64_t trailer_at,
                          const std::vector<Metalayer>& layers);

// Reads the content of one of Frame::metalayers().  Errors: errors of the source.
Result<std::vector<std::byte>> read_metalayer(const ByteSource& source, const Metalayer& layer);
// Reads the decoded content of one of Frame::vlmetalayers().
// Errors: over_limit above limits.vlmeta_bytes; errors of reading a chunk.
Result<std::vector<std::byte>> read_vlmetalayer(const ByteSource& source, const Metalayer& layer,
                                                const Limits& limits);

}  // namespace framefs::codec
