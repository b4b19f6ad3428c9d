#pragma once

#include <string>

#include <fuse_lowlevel.h>

#include "codec/core/result.h"
#include "fs/core/log.h"

namespace framefs::fuse {

// The kernel passes requests by io_uring instead of by read() and write() of /dev/fuse. A request
// then takes fewer system calls, and its caller waits less. This needs libfuse 3.18 and a kernel
// (6.14) in which an administrator has enabled it. libfuse serves each ring in a thread of its own;
// operations run and reply in that thread (fs/DESIGN.md, "Newer libfuse"). CMake compiles
// io_uring.cc or io_uring_none.cc.

// The text to append to the mount's options; it begins with a comma.
// Errors: system, EOPNOTSUPP, if libfuse is too old.
codec::Result<std::string> io_uring_option();

// Called while the connection is made. If the kernel does not offer io_uring, logs how to enable
// it.
void check_io_uring(const fuse_conn_info& connection, fs::Log& log);

}  // namespace framefs::fuse
