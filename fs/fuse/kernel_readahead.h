#pragma once

#include <filesystem>

#include "fs/core/log.h"
#include "fs/fuse/watchdog.h"

namespace framefs::fuse {

// Raises how far the kernel reads ahead on the mount at `mountpoint`, which it allows root only;
// for others, says in the log how it is done.
// `watchdog` does it for the daemon, which has given up the right; null where there is none.
void raise_kernel_readahead(const std::filesystem::path& mountpoint, const Watchdog* watchdog,
                            fs::Log& log);

}  // namespace framefs::fuse
