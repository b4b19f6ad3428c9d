// For libfuse before 3.18; see io_uring.cc.

#include <cerrno>

#include "fs/core/file.h"
#include "fs/fuse/io_uring.h"

namespace framefs::fuse {

codec::Result<std::string> io_uring_option() {
  return fs::refusal(EOPNOTSUPP, "--io-uring needs libfuse 3.18 or later");
}

void check_io_uring(const fuse_conn_info&, fs::Log&) {}

}  // namespace framefs::fuse
