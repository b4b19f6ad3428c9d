#pragma once

#include <filesystem>
#include <string>

namespace framefs {

// Returns a path in the form of the kernel's list of mounts: absolute and without symbolic links.
// Sends no request to the filesystem that is mounted there, because its daemon may be gone.
std::filesystem::path mountpoint_path(const std::string& path);

// Unmounts with fusermount3(1), which needs no root rights.  Its messages have been printed.
bool run_fusermount(const std::filesystem::path& mountpoint, bool lazy);

}  // namespace framefs
