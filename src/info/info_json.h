#pragma once

#include <cstdint>
#include <string>

#include "fs/inspect/chunk_info.h"
#include "fs/inspect/frame_info.h"
#include "src/info/container_listing.h"

namespace framefs {

// What `framefs info --json` says: one object for each path, on a line.  Lists that may be long are
// written as they come; an object that is to hold one is left open, without its last brace.
// Text that is no UTF-8 has its bad bytes replaced.

std::string frame_json(const std::string& path, const fs::FrameInfo& info);
std::string error_json(const std::string& path, const std::string& error);
std::string container_json(const std::string& path, const ContainerSummary& container);

// A chunk of a frame that begins at byte `frame_at` of its file.
std::string chunk_json(const fs::ChunkInfo& chunk, std::uint64_t frame_at);
std::string member_json(const ContainerMember& member);

// `object` without its last brace, ready for a list of that name to be written behind it.
std::string open_list(std::string object, const std::string& name);
inline constexpr const char* kListEnd = "\n]}";

}  // namespace framefs
