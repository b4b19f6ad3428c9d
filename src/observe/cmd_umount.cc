#include "src/observe/cmd_umount.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "fs/core/files/file.h"
#include "src/cli/arguments.h"
#include "src/cli/collected_log.h"
#include "src/cli/exit_codes.h"
#include "src/cli/loss_messages.h"
#include "src/observe/daemon_stats.h"
#include "src/observe/mount_daemon.h"
#include "src/observe/mount_list.h"
#include "src/observe/unmount.h"
#include "src/observe/written_data.h"

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

// Waits for the end of the daemon that served a mount of `device`.  Returns what keeps the mount
// alive, if anything does.
std::optional<std::string> wait_for_end(const fs::UniqueFd& daemon, dev_t device) {
  if (!daemon) return std::nullopt;
  constexpr int kBetweenQuestionsMs = 500;
  // The kernel ends a mount a moment after it was unmounted.
  constexpr int kMinAnswers = 4;
  pollfd waiting{.fd = daemon.get(), .events = POLLIN, .revents = 0};
  std::optional<std::string> keeper;
  for (int answers = 0; answers < kMinAnswers; answers = keeper ? answers + 1 : 0) {
    const int ended = ::poll(&waiting, 1, kBetweenQuestionsMs);
    if (ended > 0 || (ended < 0 && errno != EINTR)) return std::nullopt;
    keeper = keeper_of_mount(device);
  }
  return keeper;
}

// Adds the files of `more` that are not in `all`.
void add_losses(WrittenData& all, std::optional<WrittenData> more) {
  if (!more) return;
  all.has_more = all.has_more || more->has_more;
  for (auto& name : more->lost) {
    if (std::ranges::find(all.lost, name) == all.lost.end()) all.lost.push_back(std::move(name));
  }
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

std::string no_mount_text(const std::string& path, const stdfs::path& place) {
  const auto mounts = framefs_mounts();
  const bool is_covered =
      std::ranges::find(mounts, place, &FramefsMount::mountpoint) != mounts.end();
  return is_covered
             ? fmt::format("{}: another filesystem is mounted over it; unmount that first", path)
             : fmt::format("{} is not a mount of framefs; framefs list shows the mounts", path);
}

bool unmount(const std::string& path, bool lazy) {
  const auto full = place_of_mount(path);
  const auto mount = framefs_mount_at(full);
  if (mount && !lazy && refuses_stopped(*mount)) return false;
  if (!mount) {
    print_messages({no_mount_text(path, full)});
    return false;
  }
  const auto daemon = daemon_of(full);
  WrittenData written;
  std::optional<MountLink> link;
  struct stat st{};
  if (daemon) {
    ::stat(full.c_str(), &st);
    add_losses(written, commit_written_data(full));
    // By the link, the daemon can be asked once more after the last write.
    link.emplace(full);
  }
  if (!unmount_by_name(full, lazy)) {
    if (!lazy) {
      print_messages(
          {fmt::format("{} was not unmounted: close the files in it, which fuser -vm {} "
                       "shows, or use --lazy",
                       path, path)});
    }
    return false;
  }
  if (link && link->is_open()) add_losses(written, commit_written_data(link->path()));
  link.reset();
  if (const auto keeper = lazy ? std::nullopt : wait_for_end(daemon, st.st_dev)) {
    print_messages(
        {fmt::format("{} is unmounted and its data is committed, but {}; the daemon ends "
                     "after that",
                     path, *keeper)});
  }
  print_losses(written.lost, written.has_more);
  return written.lost.empty();
}

constexpr CommandLine<UmountCommand> kUmountCommandLine{
    .name = "framefs umount",
    .about =
        "Unmounts, and returns when all written data is committed and the daemon has ended.  "
        "Names the files whose written bytes were lost, with exit code 1.",
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
