#pragma once

#include <sys/types.h>

#include <string>

#include "codec/core/result.h"

namespace framefs::fuse {

// The needs in which mounts differ.
struct CallNeeds {
  bool local_files = false;  // changes of files, locks, and extended attributes
  bool network = false;      // connections by TCP, and the resolver's questions by UDP
  pid_t watchdog = 0;        // the only other process that gets signals
};

// Restricts this process to the system calls that serving a mount needs. All others fail with
// ENOSYS, and the kernel logs them. They do not end the process, because it may hold data that is
// not stored yet. CMake compiles system_call_filter.cc (with libseccomp) or
// system_call_filter_none.cc.
// Errors: system.
codec::Status filter_system_calls(const CallNeeds& needs);

// Whether filter_system_calls() can do that here.  Errors: system.
codec::Status can_filter_system_calls();
// The version of libseccomp, as "2.5.4"; empty without it.
std::string libseccomp_version();

}  // namespace framefs::fuse
