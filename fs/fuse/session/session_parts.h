#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <fuse_lowlevel.h>

#include "fs/core/diagnostics/log.h"
#include "fs/core/files/file.h"
#include "fs/core/mount_options.h"
#include "fs/fuse/confine/watchdog.h"
#include "fs/fuse/ops/kernel_readahead.h"
#include "fs/fuse/session/idle_unmount.h"
#include "fs/fuse/session/session.h"
#include "fs/fuse/session/signal_listener.h"

namespace framefs::fuse {

using codec::Status;

// The parts of a session that do not depend on the kind of SOURCE.

// Starts the watchdog of a mount.  If that fails, logs the consequence.  The watchdog of a mount
// that another process has made unmounts nothing.
Result<Watchdog> start_watchdog(const fs::MountOptions& options, fs::Log& log);

// The value of -o for libfuse and the kernel.
std::string mount_options_text(const fs::MountOptions& options, bool read_only);

// The actions for signals that do not end the daemon: SIGUSR1 calls `report`.  With a `log_file`,
// SIGHUP opens the log again, for a program that has renamed it.
// Lifetime: all arguments outlive the result.
SignalListener::Actions signal_actions(const std::function<void()>& report, const LogFile* log_file,
                                       const Watchdog* watchdog, fs::Log& log);

// Whether the daemon shall enter the sandbox.  Logs if it shall not.
bool can_confine(const fs::MountOptions& options, const Watchdog* watchdog, fs::Log& log);

// How a mount is made.
struct MountPlan {
  const fs::MountOptions& options;
  std::string words;  // from mount_options_text()
  fuse_lowlevel_ops operations;
  void* user_data;           // passed to the operations
  const Watchdog* watchdog;  // null: none
  // The watchdog makes the mount if the daemon is inside the sandbox already, or in a mount
  // namespace of its own.
  bool is_confined = false;
  bool is_apart = false;
};
// Mounts, unless the mount exists already, and runs serve(session), which also unmounts. `serve`
// runs in the calling thread, with handlers for the signals that end a daemon.
// Errors: system, if the kernel refuses the mount; those of `serve`.
Status with_mount(const MountPlan& plan, const std::function<Status(fuse_session*)>& serve);

// Whether the mount exists and the kernel still sends its requests.
bool is_connected(fuse_session* session);

// Closes the connection: pending requests to the mount fail. The session still owns a descriptor of
// that number and closes it when it is destroyed.
void disconnect(fuse_session* session);

// Unmounts what with_mount() has mounted; inside the sandbox, by way of the watchdog.
// Disconnects from a mount that another process has made.
void unmount_session(fuse_session* session, const Watchdog* watchdog, bool is_confined);

// Sets the limit of requests in flight for which no caller waits, such as read-ahead.
void limit_background(fuse_conn_info& connection, unsigned limit);

// Sets the limit of bytes that one request reads or writes.  libfuse's own limit is a number of
// pages: 1 MiB of pages of 4 KiB, and 16 MiB of pages of 64 KiB, which no thread has memory for.
void limit_request_size(fuse_conn_info& connection);

// Calls `on_ready`, after it has started `readahead`.  To be called when the mount answers
// requests.
// Lifetime: all arguments outlive the thread.
std::jthread start_announcer(const fs::MountOptions& options, const Watchdog* watchdog,
                             KernelReadahead& readahead, fs::Log& log,
                             const std::function<void()>& on_ready);

// The use of a mount, for MountOptions::idle_ms.
struct MountUse {
  std::function<std::uint64_t()> requests;  // their number so far
  std::function<bool()> has_written_data;
};
// Unmounts as soon as the mount was not in use for the time of the option. Returns null without
// that option. Lifetime: all arguments outlive the result.
std::unique_ptr<IdleUnmount> unmount_when_idle(const fs::MountOptions& options,
                                               const Watchdog* watchdog, fs::Log& log,
                                               MountUse use);

}  // namespace framefs::fuse
