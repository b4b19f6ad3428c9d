#include "fs/fuse/session/session_parts.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "fs/core/diagnostics/error_map.h"
#include "fs/core/threads/background_thread.h"
#include "fs/fuse/confine/own_namespace.h"
#include "fs/fuse/confine/sandbox.h"
#include "fs/fuse/session/end_signals.h"
#include "fs/fuse/session/inherited_mount.h"
#include "fs/fuse/session/new_session.h"
#include "fs/net/store/source_url.h"

namespace framefs::fuse {
namespace {

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

std::unexpected<fs::Error> refused() {
  return fs::refusal(EPERM, "the kernel refused the mount, see the message above");
}

Status mount_at(const std::string& place, fuse_session* session) {
  if (fuse_session_mount(session, place.c_str()) != 0) return refused();
  return {};
}

// Mounts.  libfuse serves a mount that exists, /dev/fd/N, as it is.
Status mount(const MountPlan& plan, fuse_session* session) {
  const auto& mountpoint = plan.options.mountpoint;
  if (inherited_descriptor(mountpoint)) return mount_at(mountpoint, session);
  if (!plan.is_confined && !plan.is_apart) {
    FRAMEFS_CHECK(mount_at(mountpoint, session));
    if (plan.watchdog != nullptr) plan.watchdog->mounted(mountpoint);
    return {};
  }
  auto made = plan.watchdog->mount();
  if (!made) return made.error().sys == EIO ? refused() : std::unexpected(made.error());
  if (plan.is_apart && made->device) OwnNamespace::remove_mounts_of(*made->device);
  FRAMEFS_CHECK(mount_at(fmt::format("/dev/fd/{}", made->connection.get()), session));
  // The session closes it.
  static_cast<void>(made->connection.release());
  return {};
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
  const auto name =
      options.fs_name.empty() ? net::shown_source(options.source.string()) : options.fs_name;
  text += ",subtype=" + escaped(options.subtype) + ",fsname=" + escaped(name);
  // The daemon changes files with its own rights. With allow_other it also opens files for other
  // users. The kernel must check the rights of the callers.
  // The daemon of an immutable mount does not see the opens at which they are checked.
  const bool is_checked = !read_only || options.allow_other || options.immutable;
  if (is_checked) text += ",default_permissions";
  if (options.allow_other) text += ",allow_other";
  for (const auto& option : options.vfs_options) text += "," + option;
  return text;
}

bool can_confine(const fs::MountOptions& options, const Watchdog* watchdog, fs::Log& log) {
  if (options.sandbox && has_sandbox() && watchdog != nullptr) return true;
  log.info("sandbox: none");
  return false;
}

Status with_mount(const MountPlan& plan, const std::function<Status(fuse_session*)>& serve) {
  FRAMEFS_TRY(const auto session,
              new_session(plan.words, plan.options.debug, plan.operations, plan.user_data));
  const EndSignals signals;
  FRAMEFS_CHECK(mount(plan, session.get()));
  return serve(session.get());
}

bool is_connected(fuse_session* session) {
  pollfd connection{.fd = fuse_session_fd(session), .events = POLLIN, .revents = 0};
  return ::poll(&connection, 1, 0) >= 0 && (connection.revents & (POLLERR | POLLNVAL)) == 0;
}

void disconnect(fuse_session* session) {
  const fs::UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (null) ::dup3(null.get(), fuse_session_fd(session), O_CLOEXEC);
}

void unmount_session(fuse_session* session, const Watchdog* watchdog, bool is_confined) {
  if (is_confined) {
    // False if another program has unmounted, or will.
    static_cast<void>(watchdog->unmount(is_connected(session)));
    return disconnect(session);
  }
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

void limit_request_size(fuse_conn_info& connection) {
  constexpr unsigned kMaxBytes = 1u << 20;
  // From this, libfuse computes the number of pages, which holds for reading, too.
  connection.max_write = std::min(connection.max_write, kMaxBytes);
}

std::jthread start_announcer(const fs::MountOptions& options, const Watchdog* watchdog,
                             KernelReadahead& readahead, fs::Log& log,
                             const std::function<void()>& on_ready) {
  return fs::background_thread(
      [&options, watchdog, &readahead, &log, &on_ready](const std::stop_token&) {
        if (const auto fd = inherited_descriptor(options.mountpoint)) {
          const auto mount = find_inherited_mount(*fd);
          if (mount) suggest_kernel_readahead(mount->device, log);
        } else {
          readahead.start(options.mountpoint, watchdog, log);
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
