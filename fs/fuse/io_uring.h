#pragma once

#include <string>

#include <fuse_lowlevel.h>

#include "codec/core/result.h"
#include "fs/core/log.h"

namespace framefs::fuse {

// Requests by io_uring instead of by read() and write() of /dev/fuse: who waits for one then waits for fewer
// system calls.  That takes libfuse 3.18, and a kernel (6.14) that has been told to offer it.  libfuse
// serves each ring in a thread of its own, in which our operations run and reply.  CMake chooses which
// of two files this is made of.

// What to add to the mount's options, from a comma on.
// Errors: system, EOPNOTSUPP, where libfuse is too old.
codec::Result<std::string> io_uring_option();

// Logs what to do where the kernel does not offer it, while the connection is made.
void check_io_uring(const fuse_conn_info& connection, fs::Log& log);

}  // namespace framefs::fuse
