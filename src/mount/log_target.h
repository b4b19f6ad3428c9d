#pragma once

#include <memory>
#include <string>

#include "codec/core/result.h"
#include "fs/core/files/file.h"
#include "src/mount/mount_command.h"

namespace spdlog {
class logger;  // NOLINT(readability-identifier-naming): a name of spdlog
}  // namespace spdlog

namespace framefs {

// The place of a daemon's log: a file, syslog, or standard error.  Threads: any number.
class LogTarget {
 public:
  // Errors: system, if the file cannot be opened.
  static codec::Result<std::unique_ptr<LogTarget>> open(const MountCommand& command);
  virtual ~LogTarget() = default;

  [[nodiscard]] virtual std::shared_ptr<spdlog::logger> logger() const = 0;
  // The descriptor that takes a line in one write, also from a signal handler, and the text that
  // has to precede the line.  The descriptor is -1 if there is no log; its number does not change.
  struct Direct {
    int descriptor = -1;
    std::string before;
  };
  [[nodiscard]] virtual Direct direct() const = 0;
  // Warnings also go to standard error, until end_of_start() is called: the command that mounts a
  // URL waits for the server, and its user wants to know why it takes long or fails.
  virtual void show_warnings() = 0;
  virtual void end_of_start() = 0;
  // Continues in another file, for logrotate(8).  Has no effect if the log is not a file.
  virtual void continue_in(fs::UniqueFd file) = 0;
};

}  // namespace framefs
