#pragma once

#include "fs/core/mount_options.h"
#include "fs/source/source_probe.h"
#include "fs/source/source_root.h"
#include "fs/tree/names/shown_names.h"

namespace framefs::fs {

// The kind of SOURCE, and the root of the mount that follows from it.
struct MountRoot {
  SourceRoot root;
  SourceEntry entry;
  ShownAs shown_as = ShownAs::itself;     // how the root is shown
  Expected expected = Expected::nothing;  // the content to look for in a SOURCE of one entry
};

// Determines the root of the mount from SOURCE and the mount options.
// Errors: system, if SOURCE cannot be opened or does not fit MOUNTPOINT; the error's field says
//   why.
Result<MountRoot> find_mount_root(const MountOptions& options);
// The same for a SOURCE that is open: one entry that is no directory.
Result<MountRoot> find_mount_root(const MountOptions& options, SourceRoot root);

// Returns why a mount of `found` is read-only, as the end of "the mount is read-only, because";
// null if it is writable.
const char* why_read_only(const MountOptions& options, const MountRoot& found);
// The options of a mount of `found`, which is read-only if there is a reason for it.
MountOptions options_for(const MountRoot& found, const MountOptions& options);

}  // namespace framefs::fs
