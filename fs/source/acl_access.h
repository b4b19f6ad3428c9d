#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace framefs::fs {

// How the mount treats the access control lists of files in SOURCE.
enum class AclRule : std::uint8_t {
  ignored,   // the kernel checks no rights: only the daemon's user uses the mount
  narrowed,  // the kernel checks modes, which are shown without what a list may deny
  shown,     // the kernel checks the lists, too; modes are narrowed only where it gets no list
};

// Whether an extended attribute is an access control list.
[[nodiscard]] bool is_access_list(std::string_view name) noexcept;

// Whether new entries of an open directory inherit a list from it, instead of the caller's umask.
[[nodiscard]] bool has_default_acl(int directory);

// Without the lists, the kernel checks only the bits of a mode.  For a file with an access control
// list, the group bits are the list's mask, which may grant more than any entry does.  So the mount
// shows the mode without the rights that the list does not grant to everyone of a class.  Entries
// for named users and groups count against group and other.
// Source: acl(5); kernel, posix_acl_xattr.h, version 2.
[[nodiscard]] mode_t mode_within_acl(mode_t mode, std::span<const std::byte> list);

// Applies mode_within_acl() to `st`, the attributes of the open file `fd` or of the entry `name` in
// the directory `fd`.
void heed_acl(struct stat& st, int fd);
void heed_acl(struct stat& st, int fd, const std::string& name);

}  // namespace framefs::fs
