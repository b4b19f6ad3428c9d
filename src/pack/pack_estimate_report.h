#pragma once

#include <string>
#include <vector>

#include "fs/core/threads/worker_pool.h"
#include "src/cli/tree_walk.h"
#include "src/pack/pack_file.h"

namespace framefs {

// Which files count, and how the result is printed.
struct EstimateOptions {
  TreeFilter filter;
  bool nest = false;  // frames and containers, too
  bool json = false;
};

// `framefs pack --estimate`: prints what packing the files at `paths`, and those in the directories
// among them, would save.  Returns whether nothing failed; all messages have been printed.
bool report_estimate(const std::vector<std::string>& paths, const PackOptions& options,
                     const EstimateOptions& how, fs::WorkerPool& pool);

}  // namespace framefs
