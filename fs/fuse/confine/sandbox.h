#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fs/core/files/file.h"
#include "fs/fuse/confine/landlock.h"
#include "fs/fuse/confine/watchdog.h"

namespace framefs::fuse {

// Where a daemon serves a local SOURCE.
struct Surroundings {
  std::filesystem::path source;  // as this process sees it
  // Whether the process has a mount namespace of its own.  Empty: it shall have none.
  std::optional<Status> own_namespace;
  [[nodiscard]] bool is_apart() const { return own_namespace && *own_namespace; }
};

// The system resources that a mount needs while it serves, beside those that all mounts need.
struct SandboxNeeds {
  struct Place {
    fs::UniqueFd fd;
    Landlock::Access access;
  };
  std::vector<Place> places;
  bool local_files = false;  // the files of a local SOURCE, of all owners, on behalf of callers
  bool changes = false;      // of these files
  bool devices = false;      // creates device nodes
  bool network = false;
  std::optional<Status> own_namespace;  // as in Surroundings
};
// The needs of a mount of a local SOURCE.  Must be called before the mount is made, because the
// mount may hide SOURCE, and in the namespace in which the daemon serves.  Errors: system.
Result<SandboxNeeds> sandbox_needs(const Surroundings& surroundings, bool read_only, bool devices);
// The needs of the mount of a URL.  `cache_folder` is that of its disk cache, if it has one.
// Errors: system.
Result<SandboxNeeds> remote_sandbox_needs(std::optional<int> cache_folder);

// Gives up everything that serving a mount does not need: capabilities, other files, system calls,
// signals to other processes, new privileges, and memory dumps. This holds for the calling thread
// and all threads that it starts. Afterwards, only the watchdog can make the mount and remove it,
// and it does only what was announced before. If the kernel lacks a feature, the other restrictions
// still apply. Returns the restrictions in force, for the log.
// Threads: the process must have no other thread.
std::string enter_sandbox(const SandboxNeeds& needs, const Watchdog& watchdog);

// The parts of the sandbox that depend on the kernel.  An error says why a part will not be in
// force.
struct SandboxSupport {
  Result<long> landlock;  // the version of the kernel's interface
  codec::Status system_calls;
  std::string libseccomp;  // its version; empty without it
};
SandboxSupport sandbox_support();

// Whether this program has a sandbox. Programs built with a sanitizer have none.
bool has_sandbox() noexcept;

}  // namespace framefs::fuse
