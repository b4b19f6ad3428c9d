#include "src/mount/cmd_mount.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "fs/core/diagnostics/error_map.h"
#include "fs/core/diagnostics/log.h"
#include "fs/fuse/session/inherited_mount.h"
#include "fs/fuse/session/session.h"
#include "fs/net/credentials/aws_environment.h"
#include "fs/net/store/source_url.h"
#include "fs/tree/mount_root.h"
#include "src/cli/cause_text.h"
#include "src/cli/collected_log.h"
#include "src/cli/exit_codes.h"
#include "src/cli/loss_messages.h"
#include "src/mount/daemon.h"
#include "src/mount/fatal_signals.h"
#include "src/mount/log_target.h"
#include "src/mount/mount_command.h"
#include "src/mount/mountpoint_state.h"
#include "src/mount/remount.h"
#include "src/mount/service_manager.h"
#include "src/observe/mount_list.h"
#include "src/observe/unmount.h"

namespace framefs {
namespace {

// Whether SOURCE is a frame, which can be mounted in place of a file.
bool is_one_frame(const fs::MountOptions& mount) {
  if (net::is_source_url(mount.source.string())) return false;
  const auto found = fs::find_mount_root(mount);
  return found && found->shown_as == fs::ShownAs::single_entry;
}

// Reports an error of a mount.  The texts of errors at MOUNTPOINT name it, or the kernel.
int report(const fs::MountOptions& mount, const codec::Error& error) {
  const std::string_view field = error.field;
  const bool is_mountpoint = field.starts_with("MOUNTPOINT") || field.starts_with("the kernel");
  const auto path =
      is_mountpoint ? mount.mountpoint.string() : net::shown_source(mount.source.string());
  auto text = fmt::format("{}: {}", path, fs::describe(error));
  if (!is_mountpoint && mount.source_offset > 0) {
    text += fmt::format(" (--offset {})", mount.source_offset);
  }
  std::error_code none;
  if (is_mountpoint && error.sys == ENOENT && !std::filesystem::exists(mount.mountpoint, none)) {
    text +=
        fmt::format("; create it with {} '{}'", is_one_frame(mount) ? "touch" : "mkdir -p", path);
  }
  if (field.starts_with("the kernel")) {
    text += fmt::format("; framefs doctor '{}' says what is missing", mount.mountpoint.string());
  }
  print_messages({text});
  return kExitFailure;
}

bool is_missing_source(const codec::Error& error) {
  return error.sys == ENOENT && std::string_view(error.field).starts_with("SOURCE");
}

// `daemon` is null if the program stays in the foreground; `environment` is null unless SOURCE is a
// URL.
int serve(const MountCommand& command, std::unique_ptr<Daemon> daemon,
          const net::AwsEnvironment* environment) {
  allow_most_open_files();
  const auto target = LogTarget::open(command);
  if (!target) {
    print_messages({fmt::format("{}: {}", command.log_file, cause_text(target.error()))});
    return kExitFailure;
  }
  auto& logs = **target;
  const auto [log_descriptor, before] = logs.direct();
  const FatalSignals fatal_signals(log_descriptor, before);
  fs::Log log(logs.logger(), fs::daemon_log_limits());
  const auto place = fuse::path_of_mount(command.mount.mountpoint).string();
  if (environment != nullptr && !command.foreground) logs.show_warnings();
  const auto on_ready = [&] {
    logs.end_of_start();
    const auto source = net::shown_source(command.mount.source.string());
    log.info(fmt::format("{} is mounted on {}", source, place));
    if (daemon) daemon->ready();
    tell_service_manager("READY=1");
  };
  const fuse::LogFile log_file{.path = command.log_file, .replace = [&logs](fs::UniqueFd file) {
                                 logs.continue_in(std::move(file));
                               }};
  const auto* const reopened = command.log_file.empty() ? nullptr : &log_file;
  const auto serve = [&]() -> codec::Result<fs::Losses> {
    if (environment == nullptr) return fuse::serve_mount(command.mount, log, on_ready, reopened);
    FRAMEFS_CHECK(fuse::serve_remote_mount(command.mount, *environment, log, on_ready, reopened));
    return fs::Losses();
  };
  const auto lost = serve();
  if (!lost) return report(command.mount, lost.error());
  log.info(fmt::format("{} is unmounted", place));
  print_losses(lost->names(), lost->unnamed() > 0);
  return lost->is_empty() ? kExitOk : kExitFailure;
}

// mount(8) does not pass "dev" and "suid" to its helper: the absence of "nodev" and "nosuid" means
// them.  libfuse has the opposite defaults.
void allow_devices_and_setuid(std::vector<std::string>& words) {
  for (const std::string word : {"dev", "suid"}) {
    if (std::ranges::find(words, "no" + word) == words.end()) words.push_back(word);
  }
}

void remove_stale_mount(const std::filesystem::path& mountpoint) {
  if (is_stale_mount(mountpoint)) unmount_by_name(place_of_mount(mountpoint.string()), true);
}

int run(MountCommand command) {
  if (command.remount) return remount(command);
  if (command.is_mount_helper && ::geteuid() == 0) {
    allow_devices_and_setuid(command.mount.vfs_options);
  }
  const bool is_inherited = fuse::inherited_descriptor(command.mount.mountpoint).has_value();
  if (is_inherited) {
    if (const auto adopted = fuse::adopt_mount(command.mount); !adopted) {
      return report(command.mount, adopted.error());
    }
  } else {
    if (command.replace_stale) remove_stale_mount(command.mount.mountpoint);
    std::error_code none;
    command.mount.onto_file = std::filesystem::is_regular_file(command.mount.mountpoint, none);
  }
  std::optional<net::AwsEnvironment> environment;
  const char* why_read_only = "SOURCE is a URL";
  if (net::is_source_url(command.mount.source.string())) {
    environment = net::AwsEnvironment::take();
  } else {
    const auto checked = fuse::check_mount(command.mount);
    if (!checked) {
      report(command.mount, checked.error());
      return command.nofail && is_missing_source(checked.error()) ? kExitOk : kExitFailure;
    }
    why_read_only = *checked;
  }
  if (command.has_access && !command.mount.read_only && why_read_only != nullptr) {
    print_messages({fmt::format("{}: the mount is read-only, because {}",
                                net::shown_source(command.mount.source.string()), why_read_only)});
  }
  if (!is_inherited && !command.allow_nonempty && hides_files(command.mount)) {
    print_messages(
        {fmt::format("{} is not empty, and the mount would hide its files; --nonempty mounts "
                     "anyway",
                     command.mount.mountpoint.string())});
    return kExitFailure;
  }
  const auto* const remote = environment ? &*environment : nullptr;
  if (command.check_only) return kExitOk;
  if (command.foreground) return serve(command, nullptr, remote);
  auto forked = Daemon::fork();
  if (!forked.child) return forked.parent_exit_code;
  return serve(command, std::move(forked.child), remote);
}

}  // namespace

int run_mount(const std::vector<std::string>& arguments, const std::string& command_list) {
  auto parsed = parse_mount_command(arguments, command_list);
  return parsed.command ? run(std::move(*parsed.command)) : parsed.exit_code;
}

}  // namespace framefs
