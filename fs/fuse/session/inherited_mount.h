#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

#include "codec/core/result.h"
#include "fs/core/mount_options.h"

namespace framefs::fuse {

using codec::Status;

// A mount that another process has made, for a daemon without the right to mount.  That process
// opens /dev/fuse, calls mount(2), and starts the daemon with the descriptor open and /dev/fd/N as
// MOUNTPOINT.  The daemon serves the mount and never unmounts it.

// The N of a MOUNTPOINT of the form /dev/fd/N; empty for every other path.
std::optional<int> inherited_descriptor(const std::filesystem::path& mountpoint);

// The mount of a descriptor, as the kernel's table shows it.
struct InheritedMount {
  dev_t device = 0;
  std::filesystem::path mountpoint;
  bool checks_permissions = false;  // default_permissions
  bool admits_others = false;       // allow_other
};

// Finds the mount that `fuse_fd` belongs to.  Empty if this process cannot see it: the mount is in
// another mount namespace, or the kernel does not name the connection of a descriptor.
std::optional<InheritedMount> find_inherited_mount(int fuse_fd);

// Checks the descriptor of options.mountpoint, which is /dev/fd/N, and prepares it for the session.
// Sets allow_other if the mount admits other users, or may do so.
// Errors: system, `field` being a sentence for the user: the descriptor is not one of a mount;
// users whose permissions the kernel does not check could use the mount.
Status adopt_mount(fs::MountOptions& options);

// The path of a mount as users know it: for /dev/fd/N its path in the table of mounts, if it is
// there.  No code may access that path before the daemon serves: the access would wait for it.
std::filesystem::path path_of_mount(const std::filesystem::path& mountpoint);

}  // namespace framefs::fuse
