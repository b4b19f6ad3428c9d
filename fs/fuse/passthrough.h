#pragma once

#include <cstdint>
#include <unordered_map>

#include <fuse_lowlevel.h>

#include "fs/core/guarded.h"
#include "fs/tree/open_file.h"

namespace framefs::fuse {

// Has the kernel read, write and map plain files in SOURCE itself, without asking the daemon or keeping
// their pages twice.  That takes libfuse 3.17, Linux 6.9 and a daemon with CAP_SYS_ADMIN; wherever it cannot
// be had, the daemon is asked as for any other file.  CMake chooses which of two files this is made of.
// Threads: any number, after negotiate().
class Passthrough {
 public:
  // Asks for it while the connection is made.  Not together with `writeback`: the kernel does one or the other.
  void negotiate(fuse_conn_info& connection, bool writeback);

  // Before the reply to an opening of a plain file, which `info` then says.
  void open(fuse_req_t req, const fs::OpenFile& file, fuse_file_info& info);
  // After the file's last use, or where nobody took the reply.
  void close(fuse_req_t req, const fs::OpenFile& file);

 private:
  // The kernel takes all openings of a file the same way, and by one number.
  struct Backing {
    std::int32_t id = 0;  // 0: by the daemon
    std::uint64_t openings = 0;
  };

  // Unused where it cannot be had.
  [[maybe_unused]] bool is_on_ = false;
  [[maybe_unused]] fs::Guarded<std::unordered_map<fs::NodeId, Backing>> backings_;
};

}  // namespace framefs::fuse
