#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/result.h"

namespace framefs {

// A mount of framefs in the kernel's list.
struct FramefsMount {
  std::filesystem::path mountpoint;
  std::string source;
  bool is_read_only = false;
  bool was_read_only = false;  // mounted read-only, so that its daemon changes nothing
};

// Returns the mounts that this process can see, the oldest first.  A mount with a --subtype of its
// own is found if its daemon answers this user within a second.
std::vector<FramefsMount> framefs_mounts();

// Returns the mount at a path as mount lists show it.
std::optional<FramefsMount> framefs_mount_at(const std::filesystem::path& mountpoint);

// Returns the statistics of a mount, one JSON object.
// Errors: system: ENODATA if the path is not a mount of framefs; EPERM for a mount of another user;
// ETIMEDOUT if the daemon does not answer.
codec::Result<std::string> read_stats(const std::filesystem::path& mountpoint);

}  // namespace framefs
