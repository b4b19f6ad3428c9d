#pragma once

#include <vector>

#include "fs/core/threads/worker_pool.h"
#include "fs/source/folder.h"
#include "fs/tree/names/name_choice.h"
#include "fs/tree/names/shown_listing.h"

namespace framefs::fs {

// All entries of a folder as they are shown.  Those that may be frames are probed in parallel.
// Errors: system.
[[nodiscard]] Result<std::vector<DirectoryEntry>> name_all(const Folder& folder,
                                                           const NameChoice& choice,
                                                           WorkerPool& pool);

}  // namespace framefs::fs
