// For libfuse before 3.17; see passthrough.cc.

#include "fs/fuse/ops/passthrough.h"

namespace framefs::fuse {

bool Passthrough::is_built_in() noexcept { return false; }

void Passthrough::negotiate(fuse_conn_info&, bool) {}
void Passthrough::open(fuse_req_t, const fs::OpenFile&, fuse_file_info&) {}
void Passthrough::close(fuse_req_t, const fs::OpenFile&) {}

}  // namespace framefs::fuse
