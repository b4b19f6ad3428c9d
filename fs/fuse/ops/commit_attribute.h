#pragma once

#include <cstddef>

namespace framefs::fuse {

// The extended attribute of the root of a mount that commits everything when it is read.  Its value
// names the files whose written bytes are lost or cannot be committed, each with a NUL behind it.
// An empty name stands for more files.  Only root and the owner of the daemon may read it.  It is
// never listed.
inline constexpr const char* kCommitAttribute = "user.framefs.commit";
inline constexpr std::size_t kMaxCommitBytes = 64u << 10;

}  // namespace framefs::fuse
