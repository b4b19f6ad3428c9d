#pragma once

#include <vector>

#include "fs/source/folder.h"

namespace framefs::fs {

// The entries of an open directory on disk, without "." and "..".  An O_PATH descriptor suffices.
// Errors: system.
Result<std::vector<SourceItem>> directory_items(int directory);

}  // namespace framefs::fs
