#pragma once

#include <sys/stat.h>

namespace framefs::fs {

// What the mount shows of the rights to a sparse frame, which is one file there.  In SOURCE, a
// reader needs rights to its directory and to the files in it: the mount shows only the bits that
// both grant.  If the two have different owners, the directory's owner is shown with the bits that
// every class of users has.  Only owner, group and mode of `content` are changed.  `content` is the
// index file.
void intersect_access(struct stat& content, const struct stat& directory) noexcept;

// Whether a chunk file of a sparse frame grants every right to read that its index file grants.
[[nodiscard]] bool grants_reading(const struct stat& chunk, const struct stat& index) noexcept;

}  // namespace framefs::fs
