// For libfuse 3.18 and later; see io_uring_none.cc.

#include "fs/fuse/io_uring.h"

namespace framefs::fuse {

codec::Result<std::string> io_uring_option() { return ",io_uring"; }

void check_io_uring(const fuse_conn_info& connection, fs::Log& log) {
  if ((connection.capable & FUSE_CAP_OVER_IO_URING) != 0) return;
  log.warn(
      "the kernel does not offer io_uring; to enable it, run as root and mount again: "
      "echo Y > /sys/module/fuse/parameters/enable_uring");
}

}  // namespace framefs::fuse
