#pragma once

#include <string>
#include <vector>

#include "fs/core/threads/worker_pool.h"
#include "src/pack/frame_recompressor.h"
#include "src/pack/pack_file.h"
#include "src/pack/tree_transfer.h"

namespace framefs {

// `framefs pack --recompress`: replaces the frames at `paths`, and those in the directories among
// them.  Returns whether nothing failed; all messages have been printed.
bool recompress_frames(const std::vector<std::string>& paths, const PackOptions& options,
                       const GivenSizes& sizes, const TransferOptions& tree, fs::WorkerPool& pool);

}  // namespace framefs
