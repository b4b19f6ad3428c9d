#pragma once

#include <vector>

#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/frame/frame.h"
#include "codec/frame/metalayer.h"
#include "fs/core/files/file.h"

namespace framefs::fs {

// The metalayers of users that a new frame with the content of `frame` keeps, with their contents.
// `source` is the one that the frame was opened from.
// Errors: those of codec::read_metalayer() and read_vlmetalayer().

// Without the one that makes the frame an array.
Result<std::vector<codec::NamedContent>> kept_metalayers(const codec::Frame& frame,
                                                         const codec::ByteSource& source);
// Without the checksums, which are those of the chunks as they are stored.
Result<std::vector<codec::NamedContent>> kept_vlmetalayers(const codec::Frame& frame,
                                                           const codec::ByteSource& source,
                                                           const codec::Limits& limits);

// Whether the frame has checksums of its chunks, which need not count.
bool has_checksums(const codec::Frame& frame);

}  // namespace framefs::fs
