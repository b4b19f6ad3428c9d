#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "codec/core/result.h"
#include "fs/core/diagnostics/log.h"
#include "fs/core/files/file.h"
#include "fs/core/mount_options.h"
#include "fs/net/credentials/aws_environment.h"
#include "fs/write/losses.h"

namespace framefs::fuse {

using codec::Result;
using codec::Status;

// Checks that a mount with `options` can start: SOURCE and MOUNTPOINT exist and fit together.
// Returns why the mount will be read-only, for the user; null if it will be writable.
// Errors: system, `field` being a sentence for the user.
codec::Result<const char*> check_mount(const fs::MountOptions& options);

// The canonical path of a MOUNTPOINT that is not mounted yet.
// Errors: system, `field` being a sentence for the user; ENOTCONN for a mount without a daemon.
codec::Result<std::filesystem::path> usable_mountpoint(const std::filesystem::path& path);

// The version and the features of libfuse.
struct LibfuseSupport {
  std::string version;       // as "3.14.0"
  bool passthrough = false;  // the kernel can be asked to serve plain files (passthrough.h)
};
LibfuseSupport libfuse_support();

// A log file that can be opened again while the daemon runs.
struct LogFile {
  std::filesystem::path path;  // absolute
  // Called with the new file, on any thread.
  std::function<void(fs::UniqueFd)> replace;
};

// Mounts; serves until the mount is unmounted or a SIGTERM, SIGINT or SIGHUP arrives; unmounts, and
// commits everything.  Returns the files whose written bytes were lost.
// `on_ready` is called once, on a thread of its own, when the mount answers requests.
// SIGUSR1 writes the statistics to the log.  With a `log_file`, SIGHUP opens the log again and does
// not end the mount.
// Threads: only one mount of a process at a time handles the signals; call it before starting
// threads.
// Errors: system.
Result<fs::Losses> serve_mount(const fs::MountOptions& options, fs::Log& log,
                               const std::function<void()>& on_ready,
                               const LogFile* log_file = nullptr);

// The same for a SOURCE that is a URL. check_mount() is for paths only. `environment` was taken
// while the process had one thread.
Status serve_remote_mount(const fs::MountOptions& options, const net::AwsEnvironment& environment,
                          fs::Log& log, const std::function<void()>& on_ready,
                          const LogFile* log_file = nullptr);

}  // namespace framefs::fuse
