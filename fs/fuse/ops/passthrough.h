#pragma once

#include <cstdint>
#include <unordered_map>

#include <fuse_lowlevel.h>

#include "fs/core/threads/guarded.h"
#include "fs/tree/content/open_file.h"

namespace framefs::fuse {

// Makes the kernel read, write and map plain files in SOURCE itself.  The kernel then does not ask
// the daemon and does not cache their pages twice.  This needs libfuse 3.17, Linux 6.9 and a daemon
// with CAP_SYS_ADMIN; otherwise the daemon serves plain files as it serves all others.  CMake
// compiles passthrough.cc or passthrough_none.cc.
// Threads: any number, after negotiate().
class Passthrough {
 public:
  // Whether libfuse has what this needs.
  static bool is_built_in() noexcept;

  // Called while the connection is made. The kernel supports passthrough or `writeback`, not both.
  void negotiate(fuse_conn_info& connection, bool writeback);
  // Whether the kernel may be asked to serve files; that needs the privilege, too.
  [[nodiscard]] bool is_on() const noexcept { return is_on_; }

  // Called before the reply to an open of a plain file; sets the fields of `info`.
  void open(fuse_req_t req, const fs::OpenFile& file, fuse_file_info& info);
  // Called after the last use of the file, or if the caller did not receive the reply to open.
  void close(fuse_req_t req, const fs::OpenFile& file);

 private:
  // The kernel requires that all opens of a file use the same mode and the same id.
  struct Backing {
    std::int32_t id = 0;  // 0: the daemon serves the file
    std::uint64_t openings = 0;
  };

  // Unused in passthrough_none.cc.
  [[maybe_unused]] bool is_on_ = false;
  [[maybe_unused]] fs::Guarded<std::unordered_map<fs::NodeId, Backing>> backings_;
};

}  // namespace framefs::fuse
