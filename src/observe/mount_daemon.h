#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "fs/core/files/mount_table.h"

namespace framefs {

// The daemon of a mount, as /proc shows it.
struct MountDaemon {
  pid_t pid = 0;
  bool is_stopped = false;  // by a signal, or by a debugger
};

// Returns the process that serves a mount; nothing if no process of the mount's user names it on
// its command line, or several do.  Sends no request to the mount.
std::optional<MountDaemon> find_daemon(const fs::MountTableEntry& mount);

// Return the user and the group who have made a mount.
std::optional<uid_t> user_of(const std::string& filesystem_options);
std::optional<gid_t> group_of(const std::string& filesystem_options);

// Returns the name of a user, or the number of one without a name.
std::string user_name(uid_t user);

}  // namespace framefs
