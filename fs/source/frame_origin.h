#pragma once

#include <memory>
#include <string>

#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/frame/frame.h"
#include "fs/core/files/file.h"

namespace framefs::fs {

// Where the bytes of a frame are.
struct FrameOrigin {
  codec::FrameType type = codec::FrameType::contiguous;
  std::shared_ptr<const codec::ByteSource> source;  // the bytes from which the frame is opened
  std::shared_ptr<const codec::ByteSource> chunks;  // the bytes of its chunks; see codec::Frame
  std::string name;                                 // for the log
};

// The origin of a contiguous frame: one source for both.  `name` ends with the name of the file,
// which decides whether an empty file is a frame (empty_frame.h).
FrameOrigin contiguous_origin(std::shared_ptr<const codec::ByteSource> source, std::string name);
// The origin of the sparse frame in a directory, whose index file is open.  Errors: system.
Result<FrameOrigin> sparse_origin(int folder, std::shared_ptr<const FileReader> index,
                                  std::string name);

// Errors: those of codec::Frame.
Result<codec::Frame> open_frame_at(const FrameOrigin& origin, const codec::Limits& limits);

}  // namespace framefs::fs
