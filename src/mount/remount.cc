#include "src/mount/remount.h"

#include <sys/mount.h>
#include <sys/statvfs.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "src/cli/collected_log.h"
#include "src/cli/exit_codes.h"
#include "src/observe/mount_list.h"
#include "src/observe/unmount.h"

namespace framefs {
namespace {

// The flags of the mount that do not change.
unsigned long kept_flags(const struct statvfs& st) {
  constexpr std::array<std::pair<unsigned long, unsigned long>, 4> kFlags = {
      {{ST_NOSUID, MS_NOSUID},
       {ST_NODEV, MS_NODEV},
       {ST_NOEXEC, MS_NOEXEC},
       {ST_NOATIME, MS_NOATIME}}};
  unsigned long flags = 0;
  for (const auto& [shown, flag] : kFlags) flags |= (st.f_flag & shown) != 0 ? flag : 0;
  return flags;
}

}  // namespace

int remount(const MountCommand& command) {
  const auto path = mountpoint_path(command.mount.mountpoint.string());
  const auto mount = framefs_mount_at(path);
  if (!mount) {
    print_messages({fmt::format("{} is not a mount of framefs; framefs list shows the mounts",
                                path.string())});
    return kExitFailure;
  }
  if (!command.mount.read_only && mount->was_read_only) {
    print_messages({fmt::format(
        "{} was mounted read-only and stays so; unmount it and mount it again", path.string())});
    return kExitFailure;
  }
  struct statvfs st{};
  const unsigned long read_only =
      command.mount.read_only ? static_cast<unsigned long>(MS_RDONLY) : 0;
  const bool is_done = ::statvfs(path.c_str(), &st) == 0 &&
                       ::mount(nullptr, path.c_str(), nullptr,
                               MS_REMOUNT | MS_BIND | kept_flags(st) | read_only, nullptr) == 0;
  if (is_done) return kExitOk;
  print_messages({fmt::format("{} cannot be remounted: {}", path.string(),
                              std::generic_category().message(errno))});
  return kExitFailure;
}

}  // namespace framefs
