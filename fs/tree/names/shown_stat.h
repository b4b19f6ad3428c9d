#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "fs/core/mount_options.h"
#include "fs/source/source_probe.h"
#include "fs/tree/names/shown_names.h"

namespace framefs::fs {

// The attributes of an entry of SOURCE that is shown as `shown_as`.  `inode` is the number of the
// entry in the mount.
struct stat shown_stat(const SourceEntry& entry, ShownAs shown_as, ArrayViews arrays,
                       std::uint64_t inode);

// The inode number to show.  With ArrayViews::both, one file of SOURCE is shown as two files, which
// need different numbers.
std::uint64_t shown_inode_of(std::uint64_t inode, ShownAs shown_as, ArrayViews arrays);

// The parts of a path in SOURCE.  The directory of a path without a slash is "".
std::string directory_part(const std::string& path);
std::string name_part(const std::string& path);

}  // namespace framefs::fs
