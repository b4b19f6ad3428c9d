#pragma once

#include <cstdint>

#include "codec/array/array_layout.h"
#include "fs/view/frame_chunks.h"
#include "fs/view/view.h"

namespace framefs::fs {

// The first byte of the array from `offset` on that is in a hole or in data, as `what` asks; the
// array's size if there is no such byte.  A hole is a run of whole slabs of chunks that are zero
// according to the index.  Far into a huge array, zeros may count as data, which does no harm.
// Errors: those of FrameChunks::find_chunk().
Result<std::uint64_t> seek_in_array(const FrameChunks& frame, const codec::ArrayLayout& layout,
                                    Seek what, std::uint64_t offset);

}  // namespace framefs::fs
