#pragma once

#include <sys/stat.h>

#include <filesystem>

#include "fs/core/file.h"

namespace framefs {

// Returns the mode that `copy` takes from `original`: without the setuid, setgid and sticky bits if
// the copy has another owner or group.
mode_t carried_mode(const struct stat& original, const struct stat& copy);

// Copies owner, mode, extended attributes and the time of modification to a new file, open as `to`.
// The owner is left out if the caller may not set it, an extended attribute if the target's file
// system cannot hold it.
// Errors: system.
fs::Status carry_attributes(const std::filesystem::path& from, const struct stat& st, int to);

// The same for directories and symbolic links, which cannot be opened for writing.
fs::Status carry_attributes(const std::filesystem::path& from, const struct stat& st,
                            const std::filesystem::path& to);

}  // namespace framefs
