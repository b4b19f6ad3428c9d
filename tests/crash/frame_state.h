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

// What a shown file holds, as one number: its bytes and its vl-metalayers by name.
std::uint64_t state_hash(std::span<const std::byte> content,
                         const std::map<std::string, Bytes>& vlmetalayers);

// The files of a sparse frame by name, or of a contiguous one the only one under "".
using FrameFiles = std::map<std::string, Bytes>;

// Decodes a frame from its files, all of it, and checks that no chunk shares bytes with another.
// Of an array, what is decoded is the .npy file.
// Errors: those of codec::Frame and FrameReader; bad_field, "overlap".
codec::Result<std::uint64_t> frame_state(const FrameFiles& files);

// The name under which an entry of SOURCE is shown if it is a frame and nothing else takes the name;
// nothing for an entry that by its name is no frame.
std::optional<std::string> shown_frame_name(std::string_view name);

}  // namespace framefs::test
