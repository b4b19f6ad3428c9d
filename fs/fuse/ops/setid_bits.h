#pragma once

#include <sys/types.h>

#include <optional>

#include "fs/fuse/ops/answer.h"

namespace framefs::fuse {

// Whether the caller of a request belongs to the group of a file with the group `group` in SOURCE,
// or is root.
[[nodiscard]] bool belongs_to(fuse_req_t req, const Mount& mount, gid_t group);

// The caller of the request that the calling thread processes, if its change must clear the setuid
// and setgid bits of the file.  Lifetime: the request is not answered yet.
[[nodiscard]] std::optional<fs::Changer> caller_without_setid_bits(fuse_req_t req,
                                                                   const Mount& mount);

}  // namespace framefs::fuse
