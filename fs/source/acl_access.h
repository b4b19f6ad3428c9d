#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <span>
#include <string>

namespace framefs::fs {

// The mount checks the bits of a mode alone.  Of a file with an access control list, the group's
// bits are the mask of the list, which may grant more than any entry does.  The mode is shown
// without what the list does not grant to everyone of a class: its entries for users and groups
// count against group and other.  Source: acl(5); kernel, posix_acl_xattr.h, version 2.
[[nodiscard]] mode_t mode_within_acl(mode_t mode, std::span<const std::byte> list) noexcept;

// Applies it to `st`, which is of the open file `fd`, or of the entry `name` of the directory `fd`.
void heed_acl(struct stat& st, int fd);
void heed_acl(struct stat& st, int fd, const std::string& name);

}  // namespace framefs::fs
