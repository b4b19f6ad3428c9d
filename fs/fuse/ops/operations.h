#pragma once

#include <fuse_lowlevel.h>

namespace framefs::fuse {

// Each function enters the operations of one source file into the table.
void add_node_operations(fuse_lowlevel_ops& table);       // lookup, getattr, readlink, statfs, ...
void add_file_operations(fuse_lowlevel_ops& table);       // open, read, release
void add_write_operations(fuse_lowlevel_ops& table);      // write, fallocate, flush, fsync
void add_directory_operations(fuse_lowlevel_ops& table);  // opendir, readdir, readdirplus, ...
void add_xattr_operations(fuse_lowlevel_ops& table);
void add_name_operations(fuse_lowlevel_ops& table);  // create, mkdir, rename, setattr, ...

// The same for the mount of a remote SOURCE. Such a mount is read-only, so the kernel refuses all
// other operations.
void add_remote_node_operations(fuse_lowlevel_ops& table);
void add_remote_directory_operations(fuse_lowlevel_ops& table);
void add_remote_file_operations(fuse_lowlevel_ops& table);
void add_remote_xattr_operations(fuse_lowlevel_ops& table);

}  // namespace framefs::fuse
