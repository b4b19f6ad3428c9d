#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/limits.h"
#include "codec/frame/frame.h"
#include "fs/core/files/file.h"
#include "fs/source/frame_origin.h"

namespace framefs::fs {

// The extended attributes that a mount computes for a frame.
inline constexpr std::string_view kOwnAttributes = "user.framefs.";
inline constexpr std::string_view kInfoAttribute = "user.framefs.info";
inline constexpr std::string_view kMetaAttributes = "user.framefs.meta.";
inline constexpr std::string_view kVlmetaAttributes = "user.framefs.vlmeta.";

// Whether a mount shows an attribute of that name if the file in SOURCE has it.  Access control
// lists and security labels are rules for the kernel, which does not apply those of SOURCE to
// accesses through the mount.  For them a mount answers EOPNOTSUPP: after ENODATA, `ls -l` would
// request both for each file.
bool is_shown_attribute(std::string_view name);

// Bytes in the type that the values of attributes have.
std::vector<char> attribute_value(std::span<const std::byte> bytes);

// A frame, and where its bytes are.
struct OpenedFrame {
  FrameOrigin origin;
  codec::Frame frame;
};

// The name of the attribute for a metalayer.  Empty if the metalayer's name cannot be part of one.
std::string attribute_of_layer(std::string_view prefix, const std::string& layer);
// The attributes that describe the frame and its metalayers; without those of vl-metalayers.
std::vector<std::string> frame_attribute_names(const codec::Frame& frame);
std::vector<std::string> vlmeta_attribute_names(const codec::Frame& frame);
// The value of one of them.  Errors: system, ENODATA if there is no such attribute; those of
// reading the frame.
Result<std::vector<char>> frame_attribute(const OpenedFrame& opened, std::string_view name,
                                          const codec::Limits& limits);

}  // namespace framefs::fs
