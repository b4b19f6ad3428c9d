#pragma once

#include "codec/chunk/encode_params.h"
#include "codec/frame/frame_header.h"

namespace framefs::fs {

// How new chunks of an existing frame are encoded: as its header asks for, as far as that gives back
// every byte and we can write it.  Filters that round or that readers get wrong are left out (each
// chunk says for itself which it went through), and codecs that we only read give way to zstd.
codec::EncodeParams write_params(const codec::FrameHeader& header);

}  // namespace framefs::fs
