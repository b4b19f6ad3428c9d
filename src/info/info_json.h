#pragma once

#include <cstdint>
#include <string>

#include "fs/inspect/chunk_info.h"
#include "fs/inspect/frame_info.h"
#include "src/info/container_listing.h"

namespace framefs {

// The output of `framefs info --json`: one object for each path, on a line.  A list that may be
// long is written item by item, so its object is left open, without the last brace.
// In text that is not UTF-8, bad bytes are replaced.

std::string frame_json(const std::string& path, const fs::FrameInfo& info);
std::string error_json(const std::string& path, const std::string& error);
std::string container_json(const std::string& path, const ContainerSummary& container);

// Describes a chunk of a frame that begins at byte `frame_at` of its file.
std::string chunk_json(const fs::ChunkInfo& chunk, std::uint64_t frame_at);
std::string member_json(const ContainerMember& member);

// Returns `object` without its last brace, followed by the beginning of a list named `name`.
std::string open_list(std::string object, const std::string& name);
inline constexpr const char* kListEnd = "\n]}";

}  // namespace framefs
