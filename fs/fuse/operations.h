#pragma once

#include <fuse_lowlevel.h>

namespace framefs::fuse {

// Each file of operations enters its own into the table.
void add_node_operations(fuse_lowlevel_ops& table);       // lookup, getattr, readlink, statfs, ...
void add_file_operations(fuse_lowlevel_ops& table);       // open, read, release
void add_directory_operations(fuse_lowlevel_ops& table);  // opendir, readdir, readdirplus, ...

}  // namespace framefs::fuse
