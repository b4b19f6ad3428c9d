#pragma once

#include <sys/stat.h>

#include "fs/core/files/file.h"

namespace framefs::fs {

// Gives an open file the owner of `st`, and this mode.  Errors: system; the owner may have changed
// then.
Status give_owner_and_mode(int to, const struct stat& st, mode_t mode);

// Copies owner, mode, times and extended attributes of `from` to `to`. Both are open files.
// Errors: system, if any attribute cannot be set; some attributes of `to` may have changed then.
Status copy_attributes(int from, int to);

}  // namespace framefs::fs
