#pragma once

#include <filesystem>

#include "fs/core/mount_options.h"

namespace framefs {

// Whether the path is a mount whose daemon is gone.
bool is_stale_mount(const std::filesystem::path& path);

// Whether a mount would hide files of MOUNTPOINT.  A mount of a directory over itself hides
// nothing: it shows the files.
bool hides_files(const fs::MountOptions& mount);

}  // namespace framefs
