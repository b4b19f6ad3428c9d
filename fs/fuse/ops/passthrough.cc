// For libfuse 3.17 and later; see passthrough_none.cc.

#include "fs/fuse/ops/passthrough.h"

#include <fcntl.h>

#include <algorithm>

namespace framefs::fuse {

bool Passthrough::is_built_in() noexcept { return true; }

void Passthrough::negotiate(fuse_conn_info& connection, bool writeback) {
  is_on_ = !writeback && (connection.capable & FUSE_CAP_PASSTHROUGH) != 0;
  if (is_on_) connection.want |= FUSE_CAP_PASSTHROUGH;
}

void Passthrough::open(fuse_req_t req, const fs::OpenFile& file, fuse_file_info& info) {
  if (!is_on_) return;
  // Under the lock: callers that open the file at the same time must get the same backing id.
  info.backing_id = backings_.with([&](auto& backings) {
    auto& backing = backings[file.node->id];
    // The daemon accepts O_DIRECT with any alignment; the filesystem of SOURCE may not.
    if (backing.openings++ == 0 && (info.flags & O_DIRECT) == 0) {
      // Missing privilege is not the only cause of a refusal: SOURCE may be a stacked filesystem.
      backing.id = std::max(fuse_passthrough_open(req, file.source.fd()), 0);
    }
    return backing.id;
  });
  // The kernel rejects keep_cache with passthrough: the mount then caches no pages of its own.
  if (info.backing_id != 0) info.keep_cache = 0;
}

void Passthrough::close(fuse_req_t req, const fs::OpenFile& file) {
  if (!is_on_) return;
  backings_.with([&](auto& backings) {
    const auto at = backings.find(file.node->id);
    if (at == backings.end() || --at->second.openings > 0) return;
    if (at->second.id != 0) fuse_passthrough_close(req, at->second.id);
    backings.erase(at);
  });
}

}  // namespace framefs::fuse
