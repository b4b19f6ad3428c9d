#pragma once

#include <vector>

#include "codec/chunk/chunk_context.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/core/result.h"
#include "codec/frame/chunk_scan.h"
#include "codec/frame/frame_header.h"

namespace framefs::codec {

// Adds the chunks of a contiguous frame that a scan does not find, but to which the frame's own
// index leads: those with damaged blocks, and those of Blosc1.  `found` has the chunks of the scan,
// in file order, and stays in this order.  Chunks that the scan found within an added one go.
// Errors: scan_ended(); those of the source.
Status add_named_chunks(const ByteSource& file, const FrameHeader& header,
                        const ChunkContext& context, const Limits& limits,
                        const ScanProgress& progress, std::vector<FoundChunk>& found);

}  // namespace framefs::codec
