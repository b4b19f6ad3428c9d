#include "src/observe/unmount.h"

#include <sys/mount.h>

#include <cerrno>
#include <system_error>

#include "fs/core/diagnostics/error_map.h"
#include "fs/core/files/fusermount.h"
#include "src/cli/collected_log.h"

namespace framefs {

namespace stdfs = std::filesystem;

stdfs::path mountpoint_path(const std::string& path) {
  std::error_code none;
  auto place = stdfs::absolute(path, none).lexically_normal();
  if (!place.has_filename()) place = place.parent_path();  // "mnt/"
  return stdfs::weakly_canonical(place.parent_path(), none) / place.filename();
}

bool unmount_by_name(const stdfs::path& mountpoint, bool lazy) {
  const int flags = UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0);
  if (::umount2(mountpoint.c_str(), flags) == 0) return true;
  if (errno != EPERM) {
    print_messages({fs::describe(fs::system_error("umount").error())});
    return false;
  }
  const auto done = fs::run_fusermount(mountpoint.string(), lazy);
  if (!done) print_messages({fs::describe(done.error())});
  return done.value_or(false);
}

}  // namespace framefs
