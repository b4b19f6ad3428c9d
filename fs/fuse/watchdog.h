#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "fs/core/file.h"

namespace framefs::fuse {

using codec::Result;

// A small process of our own that unmounts should this one die without having done so: killed, or
// brought down by a bug.  It is the same program run once more under another name, so that a search
// for the daemon by name or by command line, to count it or to kill it, does not find it as well.
// Threads: one.
class Watchdog {
 public:
  // `mountpoint` is absolute.  Errors: system.
  static Result<Watchdog> start(const std::filesystem::path& mountpoint);

  // To be called once the mount is made: the one that now lies on top is ours.  Until then, whatever
  // is dead on the mountpoint is taken for it.
  void mounted(const std::filesystem::path& mountpoint) const;

  Watchdog(Watchdog&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), life_(std::move(other.life_)) {}
  Watchdog& operator=(Watchdog&&) = delete;
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  // Ends it: there is nothing left to unmount.
  ~Watchdog();

 private:
  Watchdog(pid_t pid, fs::UniqueFd life) noexcept : pid_(pid), life_(std::move(life)) {}

  pid_t pid_;          // -1: moved from
  fs::UniqueFd life_;  // the writing end of a pipe that nobody else has; it closes when we die
};

// Whether a program called by `name` is to be the watchdog, and nothing else.
bool is_watchdog(std::string_view name) noexcept;
// The watchdog's life; returns its exit code.
int run_watchdog();

}  // namespace framefs::fuse
