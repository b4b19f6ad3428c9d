#pragma once

#include "codec/array/array_layout.h"
#include "codec/frame/frame_header.h"

namespace framefs::codec {

// Size and number of a frame's chunks, from its header.
FrameExtent extent_of(const FrameHeader& header);

}  // namespace framefs::codec
