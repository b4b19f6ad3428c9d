#pragma once

#include "fs/core/mount_options.h"
#include "fs/source/source_probe.h"
#include "fs/source/source_root.h"
#include "fs/tree/shown_names.h"

namespace framefs::fs {

// What SOURCE is, and so what the root of the mount is.
struct MountRoot {
  SourceRoot root;
  SourceEntry entry;
  ShownAs shown_as = ShownAs::itself;     // of the root
  Expected expected = Expected::nothing;  // what the SOURCE of one entry is taken for
};

// Looks at SOURCE and at how it is to be mounted.
// Errors: system, where SOURCE cannot be opened, or does not go with MOUNTPOINT; the field says why.
Result<MountRoot> find_mount_root(const MountOptions& options);

}  // namespace framefs::fs
