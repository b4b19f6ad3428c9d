#pragma once

#include <functional>
#include <vector>

#include "fs/source/folder.h"

namespace framefs::fs {

// The entries of an open directory on disk, without "." and "..".  An O_PATH descriptor suffices.
// Errors: system.
Result<std::vector<SourceItem>> directory_items(int directory);

// Calls body(entry) for each of them, until it returns false.  Errors: system.
Status for_each_item(int directory, const std::function<bool(SourceItem)>& body);

}  // namespace framefs::fs
