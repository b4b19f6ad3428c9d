#include "src/mount/mountpoint_state.h"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>

namespace framefs {

bool is_stale_mount(const std::filesystem::path& path) {
  struct stat st{};
  return ::stat(path.c_str(), &st) != 0 && errno == ENOTCONN;
}

bool hides_files(const fs::MountOptions& mount) {
  std::error_code error;
  if (!std::filesystem::is_directory(mount.mountpoint, error) ||
      std::filesystem::equivalent(mount.source, mount.mountpoint, error)) {
    return false;
  }
  return !std::filesystem::is_empty(mount.mountpoint, error) && !error;
}

}  // namespace framefs
