#pragma once

#include "fs/core/files/file.h"

namespace framefs::fs {

// Copies owner, mode, times and extended attributes of `from` to `to`. Both are open files.
// Errors: system, if any attribute cannot be set; some attributes of `to` may have changed then.
Status copy_attributes(int from, int to);

}  // namespace framefs::fs
