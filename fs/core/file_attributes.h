#pragma once

#include "fs/core/file.h"

namespace framefs::fs {

// Gives one file the owner, mode, times and extended attributes of another.  Both are open.
// Errors: system, where any of them cannot be set; `to` then has some of them.
Status copy_attributes(int from, int to);

}  // namespace framefs::fs
