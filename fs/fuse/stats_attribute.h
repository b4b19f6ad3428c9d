#pragma once

namespace framefs::fuse {

// The extended attribute of the root of a mount that holds the statistics, one JSON object.  Only
// root and the owner of the daemon may read it.  It is never listed.
inline constexpr const char* kStatsAttribute = "user.framefs.stats";

}  // namespace framefs::fuse
