#pragma once

#include <filesystem>
#include <string>

namespace framefs {

// Returns a path in the form of the kernel's list of mounts: absolute and without symbolic links.
// Sends no request to the filesystem that is mounted there, because its daemon may be gone.
std::filesystem::path mountpoint_path(const std::string& path);

// Root unmounts without help, other users as fs::run_fusermount() does.  If the mount is not gone,
// the reason has been printed.
bool unmount_by_name(const std::filesystem::path& mountpoint, bool lazy);

}  // namespace framefs
