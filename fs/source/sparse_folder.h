#pragma once

#include <string>
#include <vector>

#include "fs/core/file.h"

namespace framefs::fs {

// What the directory of a sparse frame has in it beside the index.
struct SparseParts {
  std::vector<std::string> names;  // chunk files, and the lock file
  bool has_others = false;         // entries that are no part of a frame
};
// `directory` is open for reading.  Errors: system.
Result<SparseParts> sparse_parts(int directory);

// Removes the sparse frame `name`: first its index, without which it is none.
// Errors: system; ENOTEMPTY where the directory holds what is not the frame's, nothing being removed.
Status remove_sparse_frame(int parent, const std::string& name);

}  // namespace framefs::fs
