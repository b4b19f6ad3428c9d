// For libfuse 3.18 and later; see io_uring_none.cc.

#include "fs/fuse/io_uring.h"

namespace framefs::fuse {

// Each request of a ring has a buffer of the largest size, 1 MiB.  All of a ring together take the
// 4 MiB that the daemon's memory allows for a thread.
codec::Result<std::string> io_uring_option() { return ",io_uring,io_uring_q_depth=4"; }

void check_io_uring(const fuse_conn_info& connection, fs::Log& log) {
  if ((connection.capable & FUSE_CAP_OVER_IO_URING) != 0) return;
  log.warn(
      "the kernel does not offer io_uring; to enable it, run as root and mount again: "
      "echo Y > /sys/module/fuse/parameters/enable_uring");
}

}  // namespace framefs::fuse
