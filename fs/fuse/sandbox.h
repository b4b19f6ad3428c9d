#pragma once

#include <string>

#include "fs/core/file.h"
#include "fs/core/mount_options.h"

namespace framefs::fuse {

using codec::Result;

// The system resources that a mount needs while it serves.
struct SandboxNeeds {
  fs::UniqueFd source;  // the directory to which SOURCE is confined
  bool writes = false;
  bool io_uring = false;  // requests arrive by io_uring
};
// Must be called before the mount is made, because the mount may hide SOURCE. Errors: system.
Result<SandboxNeeds> sandbox_needs(const fs::MountOptions& options, bool read_only);

// Gives up everything that serving a mount does not need: capabilities, files outside of SOURCE,
// system calls, new privileges, and memory dumps. This holds for the calling thread and all threads
// that it starts. The mount must exist already. If the kernel lacks a feature, the other
// restrictions still apply. Returns the restrictions in force, for the log.
// Threads: the process must have no other thread.
std::string enter_sandbox(const SandboxNeeds& needs);

// Whether this program has a sandbox. Programs built with a sanitizer have none.
bool has_sandbox() noexcept;

}  // namespace framefs::fuse
