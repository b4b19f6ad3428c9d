#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "fs/core/file.h"
#include "fs/core/guarded.h"

namespace framefs::fuse {

using codec::Result;

// A small process of our own that unmounts should this one die without having done so: killed, or
// brought down by a bug.  It is the same program run once more under another name, so that a search
// for the daemon by name or by command line, to count it or to kill it, does not find it as well.
// Threads: any number, once mounted() has returned.
class Watchdog {
 public:
  // `mountpoint` is absolute.  Errors: system.
  static Result<Watchdog> start(const std::filesystem::path& mountpoint);

  // To be called once the mount is made: the one that now lies on top is ours.  Until then,
  // whatever is dead on the mountpoint is taken for it.
  void mounted(const std::filesystem::path& mountpoint) const;

  // The daemon confines itself (sandbox.h) and has the watchdog do what it then may not.
  // Sets the kernel's read-ahead of a mount.  Whether that could be done.
  [[nodiscard]] bool set_readahead(dev_t device, unsigned kib) const;
  // Unmounts, even if files are open.  False where it could not, or the mount is not there any
  // more.
  [[nodiscard]] bool unmount() const;

  Watchdog(Watchdog&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), channel_(std::move(other.channel_)) {}
  Watchdog& operator=(Watchdog&&) = delete;
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  // Ends it: there is nothing left to unmount.
  ~Watchdog();

  enum class Word : char;

 private:
  using Channel = fs::Guarded<fs::UniqueFd>;
  Watchdog(pid_t pid, fs::UniqueFd life)
      : pid_(pid), channel_(std::make_unique<Channel>(std::in_place, std::move(life))) {}
  bool say(Word word, std::string_view text) const;
  bool ask(Word word, std::string_view text) const;

  pid_t pid_;  // -1: moved from
  // The end of a socket that nobody else has; it closes when we die.
  std::unique_ptr<Channel> channel_;
};

// Whether a program called by `name` is to be the watchdog, and nothing else.
bool is_watchdog(std::string_view name) noexcept;
// The watchdog's life; returns its exit code.
int run_watchdog();

}  // namespace framefs::fuse
