#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "codec/chunk/encode_params.h"
#include "codec/core/result.h"
#include "codec/frame/frame.h"

namespace framefs::fs {

// How new chunks of an existing frame are encoded.  The header determines it, as long as every byte
// can be restored and framefs can write the encoding.  Filters that round, and filters that readers
// apply wrongly, are left out: each chunk stores its own filters.  Codecs that framefs can only
// read are replaced by zstd.  The blocks of an array have the size that its metalayer gives them.
codec::EncodeParams write_params(const codec::Frame& frame);

// Completes the parameters of a new frame according to its first chunk.
using ChooseParams =
    std::function<codec::Result<codec::EncodeParams>(std::span<const std::byte> first_chunk)>;

}  // namespace framefs::fs
