#pragma once

#include <filesystem>

#include "fs/core/log.h"

namespace framefs::fuse {

// Raises how far the kernel reads ahead on the mount at `mountpoint`, which it allows root only;
// for others, says in the log how it is done.
void raise_kernel_readahead(const std::filesystem::path& mountpoint, fs::Log& log);

}  // namespace framefs::fuse
