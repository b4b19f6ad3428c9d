#pragma once

#include <sys/types.h>

#include <filesystem>

#include "fs/core/log.h"
#include "fs/fuse/watchdog.h"

namespace framefs::fuse {

// Raises the kernel's read-ahead limit of the mount at `mountpoint`. The kernel allows this only to
// root; without the right, the log explains how an administrator can do it.
// `watchdog` does it for a daemon that has given up the right; null if there is no watchdog.
void raise_kernel_readahead(const std::filesystem::path& mountpoint, const Watchdog* watchdog,
                            fs::Log& log);

// Logs how an administrator can raise the limit of the mount with this device number.
void suggest_kernel_readahead(dev_t device, fs::Log& log);

}  // namespace framefs::fuse
