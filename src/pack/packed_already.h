#pragma once

#include <string>

#include "src/cli/tree_walk.h"

namespace framefs {

// Whether a path has the name and the content of a frame or container, which are packed only if the
// user asks for it.
bool is_packed_already(const std::string& path);

// The same for an entry of a tree that is a file or a sparse frame: its name decides.
bool is_packed_entry(const TreeEntry& entry);

}  // namespace framefs
