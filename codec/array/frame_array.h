#pragma once

#include "codec/array/array_layout.h"
#include "codec/frame/frame_header.h"

namespace framefs::codec {

// What a frame's header says of the chunks of its array.
FrameExtent extent_of(const FrameHeader& header);

}  // namespace framefs::codec
