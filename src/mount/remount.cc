#include "src/mount/remount.h"

#include <sys/mount.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/core.h>

#include "fs/core/files/mount_table.h"
#include "src/cli/cause_text.h"
#include "src/cli/collected_log.h"
#include "src/cli/exit_codes.h"
#include "src/observe/daemon_stats.h"
#include "src/observe/mount_list.h"
#include "src/observe/unmount.h"

namespace framefs {
namespace {

// A flag of a mount, and the words that set and clear it.
struct MountFlag {
  std::string_view set;
  std::string_view clear;
  unsigned long flag;
};
constexpr std::array<MountFlag, 4> kMountFlags = {{{"nosuid", "suid", MS_NOSUID},
                                                   {"nodev", "dev", MS_NODEV},
                                                   {"noexec", "exec", MS_NOEXEC},
                                                   {"noatime", "atime", MS_NOATIME}}};

// Flags of the filesystem, which the kernel does not change for FUSE.
constexpr std::array<std::string_view, 2> kFixedFlags = {"sync", "dirsync"};

unsigned long wanted_flags(const MountCommand& command, const FramefsMount& mount) {
  unsigned long flags = 0;
  for (const auto& [set, clear, flag] : kMountFlags) {
    const bool is_kept = !command.has_all_flags && fs::has_mount_option(mount.options, set);
    flags |= is_kept ? flag : 0;
  }
  for (const auto& word : command.mount.vfs_options) {
    for (const auto& [set, clear, flag] : kMountFlags) {
      if (word == set) flags |= flag;
      if (word == clear) flags &= ~flag;
    }
  }
  // Without a word about access times, the kernel would keep noatime.
  if ((flags & MS_NOATIME) == 0) flags |= MS_RELATIME;
  const bool is_read_only = command.has_access ? command.mount.read_only : mount.is_read_only;
  return flags | (is_read_only ? static_cast<unsigned long>(MS_RDONLY) : 0UL);
}

// Returns the first word for the kernel that the mount does not have and cannot get.
std::optional<std::string> fixed_flag(const MountCommand& command, const FramefsMount& mount) {
  for (const auto& word : command.mount.vfs_options) {
    const bool is_fixed = std::ranges::find(kFixedFlags, word) != kFixedFlags.end();
    if (is_fixed && !fs::has_mount_option(mount.filesystem_options, word)) return word;
    if (word == "async" && fs::has_mount_option(mount.filesystem_options, "sync")) return word;
  }
  return std::nullopt;
}

// The words that the mount was given, as its daemon says.
codec::Result<std::vector<std::string>> options_of(const FramefsMount& mount) {
  FRAMEFS_TRY(const auto stats, DaemonStats::of(mount.mountpoint));
  return stats.options();
}

// Returns why the options of framefs cannot become those of the command: a running daemon keeps
// its own.  mount(8) also passes those of fstab(5), which are the daemon's.
std::optional<std::string> fixed_option(const MountCommand& command, const FramefsMount& mount) {
  const auto is_shown = [&](const std::string& word) {
    return fs::has_mount_option(mount.filesystem_options, word);
  };
  auto asked = command.mount.given;
  std::erase_if(asked, is_shown);
  if (asked.empty()) return std::nullopt;
  const auto options = options_of(mount);
  if (!options) {
    return fmt::format("the daemon does not say whether {} is its option: {}", asked.front(),
                       cause_text(options.error()));
  }
  const auto other = std::ranges::find_if(asked, [&](const std::string& word) {
    return std::ranges::find(*options, word) == options->end();
  });
  if (other == asked.end()) return std::nullopt;
  return fmt::format("a remount cannot change {}; unmount and mount again",
                     other->substr(0, other->find('=')));
}

int refuse_remount(const FramefsMount& mount, const std::string& why) {
  print_messages({fmt::format("{}: {}", mount.mountpoint.string(), why)});
  return kExitFailure;
}

}  // namespace

int remount(const MountCommand& command) {
  const auto path = place_of_mount(command.mount.mountpoint.string());
  const auto mount = framefs_mount_at(path);
  if (!mount) {
    print_messages({fmt::format("{} is not a mount of framefs; framefs list shows the mounts",
                                path.string())});
    return kExitFailure;
  }
  if (const auto word = fixed_flag(command, *mount)) {
    return refuse_remount(
        *mount, fmt::format("a remount cannot change {}; unmount and mount again", *word));
  }
  if (const auto why = fixed_option(command, *mount)) return refuse_remount(*mount, *why);
  const auto flags = wanted_flags(command, *mount);
  if ((flags & MS_RDONLY) == 0 && mount->was_read_only) {
    return refuse_remount(*mount,
                          "it was mounted read-only and stays so; unmount it and mount it again");
  }
  // The flags of this mount, not those of its filesystem, which bind mounts may show as well.
  if (::mount(nullptr, path.c_str(), nullptr, MS_REMOUNT | MS_BIND | flags, nullptr) != 0) {
    return refuse_remount(*mount,
                          "it cannot be remounted: " + std::generic_category().message(errno));
  }
  return kExitOk;
}

}  // namespace framefs
