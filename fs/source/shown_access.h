#pragma once

#include <sys/stat.h>

namespace framefs::fs {

// The rights that the mount shows for a sparse frame, which is one file there.  In SOURCE, a reader
// needs rights to the frame's directory and to the files in it, so the mount shows only the bits
// that both grant.  If the two have different owners, the mount shows the directory's owner, with
// the bits that every class of users has.  Only owner, group and mode of `content`, the index file,
// are changed.
void intersect_access(struct stat& content, const struct stat& directory) noexcept;

// Whether a chunk file of a sparse frame grants every right to read that its index file grants.  If
// they have different owners, all users must have the right to read the chunk file.  Index files of
// two states are compared in the same way.
[[nodiscard]] bool grants_reading(const struct stat& chunk, const struct stat& index) noexcept;

}  // namespace framefs::fs
