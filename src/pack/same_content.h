#pragma once

#include <sys/stat.h>

namespace framefs {

// Returns whether two states of a file have the same content.  The inode's change time is ignored,
// because links and mode changes set it too.
bool same_content(const struct stat& one, const struct stat& other);

}  // namespace framefs
