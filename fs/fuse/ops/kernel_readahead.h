#pragma once

#include <sys/types.h>

#include <filesystem>

#include "fs/core/diagnostics/log.h"
#include "fs/core/files/file.h"
#include "fs/core/threads/guarded.h"
#include "fs/fuse/confine/watchdog.h"
#include "fs/read/read_pattern.h"

namespace framefs::fuse {

// The kernel's read-ahead of a mount: as many bytes as the kernel reads ahead of a sequential
// reader, and around a page fault of a mapping.  A file takes it over when it is opened.
// Threads: any number.
class KernelReadahead {
 public:
  // Raises the read-ahead of the mount at `mountpoint`, and keeps the right to change it.  The
  // kernel gives that right only to root; without it, the log explains how an administrator can
  // raise the read-ahead, and choose() does nothing.  The kernel must have the answer to INIT, with
  // which it sets the read-ahead itself.
  // `watchdog` gets the right for a daemon that has given it up; null if there is no watchdog.
  void start(const std::filesystem::path& mountpoint, const Watchdog* watchdog, fs::Log& log);

  // Sets the read-ahead for a file whose open will be answered next.  If several files are opened
  // at a time, one can get the read-ahead of another.
  void choose(fs::ReadHabit habit);

 private:
  struct State {
    fs::UniqueFd control;  // where the value is written; empty: no right to do so
    unsigned kib = 0;      // as written last
  };
  static bool set(State& state, unsigned kib);

  fs::Guarded<State> state_;
};

// Logs how an administrator can raise the read-ahead of the mount with this device number.
void suggest_kernel_readahead(dev_t device, fs::Log& log);

}  // namespace framefs::fuse
