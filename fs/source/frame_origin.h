#pragma once

#include <memory>
#include <string>

#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/frame/frame.h"
#include "fs/core/file.h"

namespace framefs::fs {

// Where the bytes of a frame are.
struct FrameOrigin {
  codec::FrameType type = codec::FrameType::contiguous;
  std::shared_ptr<const codec::ByteSource> source;  // what the frame is opened from
  std::shared_ptr<const codec::ByteSource> chunks;  // where its chunks are; see codec::Frame
  std::string name;                                 // for the log
};

// Of a contiguous frame, which has both in one.
FrameOrigin contiguous_origin(std::shared_ptr<const codec::ByteSource> source, std::string name);
// Of the sparse frame in a directory, with its index as it is now.  Errors: system.
Result<FrameOrigin> sparse_origin(int folder, std::string name);

// Errors: those of codec::Frame.
Result<codec::Frame> open_frame_at(const FrameOrigin& origin, const codec::Limits& limits);

}  // namespace framefs::fs
