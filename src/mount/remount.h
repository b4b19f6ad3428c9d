#pragma once

#include "src/mount/mount_command.h"

namespace framefs {

// Makes the existing mount at MOUNTPOINT read-only or writable.  Returns the exit code; messages
// have been printed.
int remount(const MountCommand& command);

}  // namespace framefs
