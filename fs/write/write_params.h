#pragma once

#include "codec/chunk/encode_params.h"
#include "codec/frame/frame_header.h"

namespace framefs::fs {

// How new chunks of an existing frame are encoded.  The header determines it, as long as every byte
// can be restored and framefs can write the encoding.  Filters that round, and filters that readers
// apply wrongly, are left out: each chunk stores its own filters.  Codecs that framefs can only
// read are replaced by zstd.
codec::EncodeParams write_params(const codec::FrameHeader& header);

}  // namespace framefs::fs
