#pragma once

#include <filesystem>
#include <string>

namespace framefs {

// Returns a path in the form of the kernel's list of mounts: absolute and without symbolic links.
// Sends no request to the filesystem that is mounted there, because its daemon may be gone.
std::filesystem::path mountpoint_path(const std::string& path);

// Unmounts as fs::run_fusermount() does.  The reason has been printed if the mount is not gone.
bool unmount_by_name(const std::filesystem::path& mountpoint, bool lazy);

}  // namespace framefs
