#include "src/observe/cmd_umount.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "fs/core/file.h"
#include "src/cli/arguments.h"
#include "src/cli/collected_log.h"
#include "src/cli/exit_codes.h"
#include "src/observe/daemon_stats.h"
#include "src/observe/mount_daemon.h"
#include "src/observe/mount_list.h"
#include "src/observe/unmount.h"

namespace framefs {
namespace {

namespace stdfs = std::filesystem;

struct UmountCommand {
  std::vector<std::string> mountpoints;
  bool lazy = false;
};

void add_options(CLI::App& app, UmountCommand& command) {
  app.add_option("MOUNTPOINT", command.mountpoints, "Mounts of framefs")->required();
  app.add_flag("-z,--lazy", command.lazy,
               "Unmount even if files are open; the mount ends when they are closed");
}

// Returns a pidfd of the daemon that serves a mount; empty if the daemon does not answer.
fs::UniqueFd daemon_of(const stdfs::path& mountpoint) {
  const auto stats = DaemonStats::of(mountpoint);
  if (!stats || !stats->pid()) return {};
  const auto fd = ::syscall(SYS_pidfd_open, *stats->pid(), 0);
  return fs::UniqueFd(static_cast<int>(fd));
}

void wait_for_end(const fs::UniqueFd& daemon) {
  if (!daemon) return;
  pollfd waiting{.fd = daemon.get(), .events = POLLIN, .revents = 0};
  while (::poll(&waiting, 1, -1) < 0 && errno == EINTR) continue;
}

// The place of the mount to end.  A link is followed only if it has no mount at its own name.
stdfs::path place_of_mount(const std::string& path) {
  auto place = mountpoint_path(path);
  std::error_code none;
  if (!framefs_mount_at(place) && stdfs::is_symlink(place, none)) {
    place = stdfs::weakly_canonical(place, none);
  }
  return place;
}

// Whether the daemon cannot commit what was written, because it is stopped.  The reason is printed.
bool refuses_stopped(const FramefsMount& mount) {
  const auto daemon = find_daemon(mount);
  if (!daemon || !daemon->is_stopped) return false;
  print_messages({fmt::format(
      "{}: its daemon, process {}, is stopped; kill -CONT {} lets it go on, and --lazy "
      "unmounts without waiting for it",
      mount.mountpoint.string(), daemon->pid, daemon->pid)});
  return true;
}

bool unmount(const std::string& path, bool lazy) {
  const auto full = place_of_mount(path);
  const auto mount = framefs_mount_at(full);
  if (mount && !lazy && refuses_stopped(*mount)) return false;
  if (!mount) {
    print_messages(
        {fmt::format("{} is not a mount of framefs; framefs list shows the mounts", path)});
    return false;
  }
  const auto daemon = daemon_of(full);
  if (!unmount_by_name(full, lazy)) {
    if (!lazy) {
      print_messages(
          {fmt::format("{} was not unmounted: close the files in it, which fuser -vm {} "
                       "shows, or use --lazy",
                       path, path)});
    }
    return false;
  }
  if (!lazy) wait_for_end(daemon);
  return true;
}

constexpr CommandLine<UmountCommand> kUmountCommandLine{
    .name = "framefs umount",
    .about = "Unmounts, and returns when all written data is committed and the daemon has ended.",
    .add_options = add_options};

}  // namespace

CommandSyntax umount_syntax() { return kUmountCommandLine.syntax(); }

int run_umount(std::span<const std::string> arguments) {
  auto parsed = kUmountCommandLine.parse(arguments);
  if (!parsed) return parsed.error();
  auto& command = *parsed;
  bool all = true;
  for (const auto& mountpoint : command.mountpoints) all = unmount(mountpoint, command.lazy) && all;
  return all ? kExitOk : kExitFailure;
}

}  // namespace framefs
