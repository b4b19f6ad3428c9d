#include "fs/fuse/session_parts.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "fs/core/background_thread.h"
#include "fs/core/error_map.h"
#include "fs/fuse/inherited_mount.h"
#include "fs/fuse/kernel_readahead.h"

namespace framefs::fuse {
namespace {

struct CloseSession {
  void operator()(fuse_session* session) const { fuse_session_destroy(session); }
};
using SessionPtr = std::unique_ptr<fuse_session, CloseSession>;

struct Arguments {
  Arguments() = default;
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments() { fuse_opt_free_args(&list); }
  bool add(const std::string& argument) { return fuse_opt_add_arg(&list, argument.c_str()) == 0; }
  fuse_args list = FUSE_ARGS_INIT(0, nullptr);
};

// A comma or a backslash would end the option's value.
std::string escaped(const std::string& value) {
  std::string out;
  for (const char c : value) {
    if (c == ',' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// Inside the sandbox, only the watchdog can open the log.
void replace_log(const LogFile& file, const Watchdog* watchdog, fs::Log& log) {
  auto opened = watchdog != nullptr ? watchdog->open_log() : open_log_file(file.path);
  if (!opened) return log.warn("the log cannot be opened again: " + fs::describe(opened.error()));
  file.replace(std::move(*opened));
  log.info("the log was opened again");
}

}  // namespace

Result<Watchdog> start_watchdog(const fs::MountOptions& options, fs::Log& log) {
  const bool is_inherited = inherited_descriptor(options.mountpoint).has_value();
  auto watchdog = Watchdog::start(is_inherited ? std::filesystem::path() : options.mountpoint);
  if (!watchdog && !is_inherited) {
    log.warn("the watchdog did not start, so the mount stays behind if the daemon is killed: " +
             fs::describe(watchdog.error()));
  }
  return watchdog;
}

SignalListener::Actions signal_actions(const std::function<void()>& report, const LogFile* log_file,
                                       const Watchdog* watchdog, fs::Log& log) {
  SignalListener::Actions actions{{SIGUSR1, [&report] { report(); }}};
  if (log_file != nullptr) {
    if (watchdog != nullptr) watchdog->keep_log_path(log_file->path);
    actions.emplace(SIGHUP, [log_file, watchdog, &log] { replace_log(*log_file, watchdog, log); });
  }
  return actions;
}

std::string mount_options_text(const fs::MountOptions& options, bool read_only) {
  std::string text = read_only ? "ro" : "rw";
  const auto name = options.fs_name.empty() ? options.source.string() : options.fs_name;
  text += ",subtype=" + escaped(options.subtype) + ",fsname=" + escaped(name);
  // The daemon changes files with its own rights. With allow_other it also opens files for other
  // users. The kernel must check the rights of the callers.
  if (!read_only || options.allow_other) text += ",default_permissions";
  if (options.allow_other) text += ",allow_other";
  for (const auto& option : options.vfs_options) text += "," + option;
  return text;
}

Status with_mount(const MountPlan& plan, const std::function<Status(fuse_session*)>& serve) {
  Arguments arguments;
  if (!arguments.add("framefs") || !arguments.add("-o") || !arguments.add(plan.words) ||
      (plan.options.debug && !arguments.add("-d"))) {
    return fs::system_error_of(ENOMEM, "mount");
  }
  const SessionPtr session(
      fuse_session_new(&arguments.list, &plan.operations, sizeof(plan.operations), plan.user_data));
  if (!session) return fs::system_error_of(EINVAL, "mount options");
  if (fuse_set_signal_handlers(session.get()) != 0) return fs::system_error("signal handlers");
  Status served;
  const auto& mountpoint = plan.options.mountpoint;
  // libfuse serves /dev/fd/N as it is.
  if (fuse_session_mount(session.get(), mountpoint.c_str()) == 0) {
    if (plan.watchdog != nullptr && !inherited_descriptor(mountpoint)) {
      plan.watchdog->mounted(mountpoint);
    }
    served = serve(session.get());
  } else {
    served = fs::system_error_of(EPERM, "the kernel refused the mount, see the message above");
  }
  fuse_remove_signal_handlers(session.get());
  return served;
}

bool is_connected(fuse_session* session) {
  pollfd connection{.fd = fuse_session_fd(session), .events = POLLIN, .revents = 0};
  return ::poll(&connection, 1, 0) >= 0 && (connection.revents & (POLLERR | POLLNVAL)) == 0;
}

void disconnect(fuse_session* session) {
  const fs::UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (null) ::dup3(null.get(), fuse_session_fd(session), O_CLOEXEC);
}

void unmount_session(fuse_session* session, const Watchdog* watchdog) {
  // libfuse leaves a mount whose connection was aborted.
  if (watchdog != nullptr && !is_connected(session)) static_cast<void>(watchdog->unmount(false));
  fuse_session_unmount(session);
  // libfuse keeps the descriptor of a mount that it has not made.
  if (fuse_session_fd(session) >= 0) disconnect(session);
}

void limit_background(fuse_conn_info& connection, unsigned limit) {
  connection.max_background = limit;
  connection.congestion_threshold = limit * 3 / 4;
}

std::jthread start_announcer(const fs::MountOptions& options, const Watchdog* watchdog,
                             fs::Log& log, const std::function<void()>& on_ready) {
  return fs::background_thread([&options, watchdog, &log, &on_ready](const std::stop_token&) {
    if (const auto fd = inherited_descriptor(options.mountpoint)) {
      const auto mount = find_inherited_mount(*fd);
      if (mount) suggest_kernel_readahead(mount->device, log);
    } else {
      // Waits for the answer to a first request.
      raise_kernel_readahead(options.mountpoint, watchdog, log);
    }
    on_ready();
  });
}

std::unique_ptr<IdleUnmount> unmount_when_idle(const fs::MountOptions& options,
                                               const Watchdog* watchdog, fs::Log& log,
                                               MountUse use) {
  if (options.idle_ms == 0) return nullptr;
  if (watchdog == nullptr) {
    log.warn("the mount does not end when it is idle, because it has no watchdog");
    return nullptr;
  }
  const std::chrono::milliseconds time(options.idle_ms);
  const auto unmount = [watchdog, time, &log] {
    if (!watchdog->unmount_if_unused()) return false;
    log.info(fmt::format("unmounted after {} s without use",
                         std::chrono::duration<double>(time).count()));
    return true;
  };
  return std::make_unique<IdleUnmount>(
      time, IdleUnmount::Mount{std::move(use.requests), std::move(use.has_written_data), unmount});
}

}  // namespace framefs::fuse
