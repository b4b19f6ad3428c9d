#pragma once

#include <vector>

#include "codec/chunk/chunk_context.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/core/result.h"
#include "codec/frame/chunk_scan.h"
#include "codec/frame/frame_header.h"

namespace framefs::codec {

// Adds the chunk in whose middle a truncated file of a contiguous frame ends, if blocks of it are
// there.  The chunks follow each other from the header on, so that this chunk begins where the last
// whole one ends.  `found` has the chunks of a scan, in file order; those in the added chunk go.
// Errors: those of the source.
Status add_cut_chunk(const ByteSource& file, const FrameHeader& header, const ChunkContext& context,
                     const Limits& limits, std::vector<FoundChunk>& found);

}  // namespace framefs::codec
