#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "codec/core/result.h"
#include "tests/support/bytes.h"

namespace framefs::test {

// The content of a shown file as one number: its bytes, and its vl-metalayers by name.
std::uint64_t state_hash(std::span<const std::byte> content,
                         const std::map<std::string, Bytes>& vlmetalayers);

// The files of a sparse frame by name, or the single file of a contiguous frame under "".
using FrameFiles = std::map<std::string, Bytes>;

// Decodes a frame completely and checks that no two chunks share bytes.  For an array, the decoded
// file is the .npy file.
// Errors: errors of codec::Frame, FrameReader and of checksums; bad_field, "overlap".
codec::Result<std::uint64_t> frame_state(const FrameFiles& files);

// The shown name of an entry of SOURCE if it is a frame and no other entry takes the name.  Nothing
// if its name is not that of a frame.
std::optional<std::string> shown_frame_name(std::string_view name);

}  // namespace framefs::test
