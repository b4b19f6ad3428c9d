#pragma once

#include "src/cli/cli.h"

namespace framefs {

// Makes the existing mount at MOUNTPOINT read-only or writable.  Returns the exit code; messages
// have been printed.
int remount(const Command& command);

}  // namespace framefs
