#pragma once

#include <string>

#include "fs/core/files/file.h"

namespace framefs::fs {

// Unmounts with fusermount3(1), which needs no root rights: it checks that the mount is the
// caller's.  Returns whether the mount is gone.  Otherwise fusermount3 has said on standard error
// why it is not.
// Errors: system, if fusermount3 cannot be run.
Result<bool> run_fusermount(const std::string& mountpoint, bool lazy);

}  // namespace framefs::fs
