#pragma once

#include <sys/stat.h>

#include "fs/core/files/file.h"

namespace framefs {

// Returns the mode that `copy` takes from `original`: without the setuid, setgid and sticky bits if
// the copy has another owner or group.
mode_t carried_mode(const struct stat& original, const struct stat& copy);

// Copies owner, mode, extended attributes and the time of modification of an open object to a new
// one, open as `to`.  Both may be O_PATH descriptors, also of symbolic links.  The owner is omitted
// if the caller may not set it, an extended attribute if the target's file system cannot hold it.
// Errors: system.
fs::Status carry_attributes(int from, const struct stat& st, int to);

}  // namespace framefs
