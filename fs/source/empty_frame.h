#pragma once

#include <memory>
#include <string_view>

#include "codec/core/byte_source.h"

namespace framefs::fs {

// An empty file whose name ends as that of a frame of bytes (Expected::frame) is an empty frame.  A
// power cut leaves such a file of a new frame that was not synced, and the Blosc2 library makes
// them as well.

// The bytes of the frame for which such a file stands.
std::shared_ptr<const codec::ByteSource> empty_frame();
// Whether `source`, the file with the path `path`, is such a file.
bool is_empty_frame(const codec::ByteSource& source, std::string_view path);

}  // namespace framefs::fs
