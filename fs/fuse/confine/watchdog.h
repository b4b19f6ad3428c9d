#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "fs/core/files/file.h"
#include "fs/core/threads/guarded.h"
#include "fs/fuse/confine/watchdog_messages.h"
#include "fs/net/credentials/credential_access.h"

namespace framefs::fuse {

using codec::Result;
using codec::Status;

// A small helper process that unmounts if the daemon dies without unmounting: killed, or crashed.
// It runs the same program under another name. Hence a search for the daemon by name or by command
// line, to count or to kill it, does not find the helper.
// Threads: any number, once mounted() has returned.
class Watchdog {
 public:
  // `mountpoint` is absolute.  If it is empty, the watchdog never unmounts.  Errors: system.
  static Result<Watchdog> start(const std::filesystem::path& mountpoint);

  // Must be called once the mount is made, while it is the topmost mount on the mountpoint. Before
  // the call, the watchdog takes any dead mount on the mountpoint for this one.
  void mounted(const std::filesystem::path& mountpoint) const;

  // The daemon confines itself (sandbox.h); the watchdog then does for it what follows.  Everything
  // that keep_...() announces must be announced before confine().
  void confine() const;

  // Opens the control of the kernel's read-ahead of the mount: a file of sysfs, in KiB.
  // Errors: system.
  [[nodiscard]] Result<fs::UniqueFd> open_readahead() const;
  // Opens the log file, which it creates if necessary.  Errors: system.
  void keep_log_path(const std::filesystem::path& path) const;
  [[nodiscard]] Result<fs::UniqueFd> open_log() const;
  struct MadeMount {
    fs::UniqueFd connection;      // of /dev/fuse
    std::optional<dev_t> device;  // of the mount's files
  };
  // Makes the mount with these words of -o, once.  mounted() need not be called.  Errors: EPIPE if
  // the watchdog is gone; EIO if the kernel refuses the mount, and a message on stderr then tells
  // the reason.
  void keep_mount(const std::string& words) const;
  [[nodiscard]] Result<MadeMount> mount() const;
  // Passes the SOURCE of a mount whose file handles outlive it, open for reading; the watchdog then
  // opens the files of that SOURCE by their handles (HandleOpener).  Errors: system.
  [[nodiscard]] Status keep_source(int source, bool read_only) const;
  [[nodiscard]] Result<fs::UniqueFd> open_by_handle(std::uint64_t inode,
                                                    std::optional<std::uint32_t> generation,
                                                    int flags) const;
  // Keeps the file open, with its locks, until the mount has ended.
  void hold(const fs::UniqueFd& file) const;
  // Opens one of the files for reading.  Errors: system.
  void keep_file(const std::string& path) const;
  [[nodiscard]] Result<fs::UniqueFd> open_file(const std::string& path) const;
  // Starts the program (net::CredentialAccess), after it has ended the one that it started before.
  // Returns the pipe from which to read its output.  Errors: system.
  void keep_program(const std::string& command) const;
  [[nodiscard]] Result<fs::UniqueFd> start_program() const;
  [[nodiscard]] net::RunningProgram::State program_state() const;
  void end_program() const;
  // Unmounts, even if files are open. False if that failed, or if the mount no longer exists.
  // `is_connected`: whether the kernel still sends requests. If not, the mount may already be gone,
  // and another mount may have its place and its number; then only a dead mount is unmounted.
  [[nodiscard]] bool unmount(bool is_connected) const;
  // Unmounts as umount(8) does. False if that failed, because a file is open in the mount or a
  // process works there, or if the mount no longer exists.
  [[nodiscard]] bool unmount_if_unused() const;

  Watchdog(Watchdog&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), channel_(std::move(other.channel_)) {}
  Watchdog& operator=(Watchdog&&) = delete;
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  // Ends the watchdog: there is nothing left to unmount.
  ~Watchdog();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

 private:
  using Channel = fs::Guarded<fs::UniqueFd>;
  Watchdog(pid_t pid, fs::UniqueFd life)
      : pid_(pid), channel_(std::make_unique<Channel>(std::in_place, std::move(life))) {}
  // Sends a message.  Returns false if the watchdog is gone.
  [[nodiscard]] bool say(WatchdogWord word, std::string_view text, int fd = -1) const;
  // As say(), for announcements: if the watchdog is gone, a later question fails and tells it.
  void tell(WatchdogWord word, std::string_view text) const { static_cast<void>(say(word, text)); }
  // Empty if the watchdog is gone.
  [[nodiscard]] std::optional<WatchdogMessage> ask(WatchdogWord word, std::string_view text = {},
                                                   int fd = -1) const;
  [[nodiscard]] bool is_done(WatchdogWord word, std::string_view text = {}, int fd = -1) const;
  // The answer always has a descriptor.
  // Errors: EPIPE if the watchdog is gone; the watchdog's own error, or EIO if it tells none.
  [[nodiscard]] Result<WatchdogMessage> ask_for_message(WatchdogWord word, std::string_view text,
                                                        int fd) const;
  [[nodiscard]] Result<fs::UniqueFd> ask_for_file(WatchdogWord word, std::string_view text = {},
                                                  int fd = -1) const;

  pid_t pid_;  // -1: moved from
  // The daemon's end of the socket. No other process has it, so it closes when the daemon dies.
  std::unique_ptr<Channel> channel_;
};

// Opens a log file for appending; creates it if necessary.  Errors: system.
Result<fs::UniqueFd> open_log_file(const std::filesystem::path& path);

// Whether a program called by `name` must act as the watchdog and do nothing else.
bool is_watchdog(std::string_view name) noexcept;
// Gives this process that name.
void name_watchdog();
// The main function of the watchdog; returns its exit code.
int run_watchdog();

}  // namespace framefs::fuse
