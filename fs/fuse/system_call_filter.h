#pragma once

#include "codec/core/result.h"

namespace framefs::fuse {

// Restricts this process to the system calls that serving a mount needs. All others fail with
// ENOSYS, and the kernel logs them. They do not end the process, because it may hold data that is
// not stored yet. A filter cannot see the operations of io_uring, so io_uring is allowed only if
// requests arrive by it. CMake compiles system_call_filter.cc (with libseccomp) or
// system_call_filter_none.cc.
// Errors: system.
codec::Status filter_system_calls(bool with_io_uring);

}  // namespace framefs::fuse
