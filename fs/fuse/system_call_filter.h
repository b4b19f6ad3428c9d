#pragma once

#include "codec/core/result.h"

namespace framefs::fuse {

// Leaves this process the system calls that serving a mount takes.  All others fail with ENOSYS,
// and the kernel logs them; they end nothing, because data may be waiting to be stored.  CMake
// chooses which of two files this is made of: with libseccomp, or without.
// What io_uring does is beyond any filter, so it is allowed only where requests come by it.
// Errors: system.
codec::Status filter_system_calls(bool with_io_uring);

}  // namespace framefs::fuse
