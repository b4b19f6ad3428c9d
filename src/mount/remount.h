#pragma once

#include "src/mount/mount_command.h"

namespace framefs {

// Changes the flags of the existing mount at MOUNTPOINT: ro, nosuid, nodev, noexec, noatime.  All
// other options must be those that the mount has.  Returns the exit code; messages have been
// printed.
int remount(const MountCommand& command);

}  // namespace framefs
