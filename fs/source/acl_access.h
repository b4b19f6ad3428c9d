#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <span>
#include <string>

namespace framefs::fs {

// The mount checks only the bits of a mode.  For a file with an access control list, the group bits
// are the list's mask, which may grant more than any entry does.  So the mount shows the mode
// without the rights that the list does not grant to everyone of a class.  Entries for named users
// and groups count against group and other.
// Source: acl(5); kernel, posix_acl_xattr.h, version 2.
[[nodiscard]] mode_t mode_within_acl(mode_t mode, std::span<const std::byte> list) noexcept;

// Applies mode_within_acl() to `st`, the attributes of the open file `fd` or of the entry `name` in
// the directory `fd`.
void heed_acl(struct stat& st, int fd);
void heed_acl(struct stat& st, int fd, const std::string& name);

}  // namespace framefs::fs
