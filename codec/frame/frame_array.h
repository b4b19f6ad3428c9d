#pragma once

#include "codec/array/array_layout.h"
#include "codec/array/array_meta.h"
#include "codec/core/result.h"
#include "codec/frame/frame_header.h"

namespace framefs::codec {

// Where the elements of a frame's array lie in its chunks.  `meta` is the frame's array metalayer.
// The errors are those of ArrayLayout::make().
Result<ArrayLayout> layout_of(const ArrayMeta& meta, const FrameHeader& header);

}  // namespace framefs::codec
