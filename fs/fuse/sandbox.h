#pragma once

#include <string>

#include "fs/core/file.h"
#include "fs/core/mount_options.h"

namespace framefs::fuse {

using codec::Result;

// What a mount needs of the system while it serves.
struct SandboxNeeds {
  fs::UniqueFd source;  // the directory to which SOURCE is confined
  bool writes = false;
  bool io_uring = false;  // requests come by it
};
// To be called before the mount is made, which may hide SOURCE.  Errors: system.
Result<SandboxNeeds> sandbox_needs(const fs::MountOptions& options, bool read_only);

// Gives up, for this thread and all that it starts, what serving a mount does not need:
// capabilities, files outside of SOURCE, system calls, new privileges, and memory dumps.  The mount
// must have been made.  Where the kernel lacks something, the rest is still given up.  Returns what
// is in force, for the log.  Threads: the process must have no other one.
std::string enter_sandbox(const SandboxNeeds& needs);

// Whether this program has a sandbox.  Programs with a sanitizer have none.
bool has_sandbox() noexcept;

}  // namespace framefs::fuse
