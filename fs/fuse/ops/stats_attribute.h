#pragma once

namespace framefs::fuse {

// The extended attribute of the root of a mount that holds the statistics, one JSON object.  Only
// root and the owner of the daemon may read it.  It is never listed.
inline constexpr const char* kStatsAttribute = "user.framefs.stats";
// The same for the last lines of the log, from the line on whose number follows this prefix: a JSON
// object with "first", the number of the first line, and "lines".
inline constexpr const char* kLogAttribute = "user.framefs.log.";

}  // namespace framefs::fuse
