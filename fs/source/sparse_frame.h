#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/core/files/file.h"

namespace framefs::fs {

// A sparse frame on disk: a directory with an index file, a file for each chunk, and otherwise only
// files that its writers keep there.  For the content of a chunk file, see fs/source/chunk_files.h.

// The file that lists the chunks, and its successor while a writer writes that.  (The names are
// literals, so that they end with the zero byte that system calls need.)
inline constexpr const char* kSparseIndexName = "chunks.b2frame";
inline constexpr std::string_view kNextSparseIndexName = "chunks.b2frame.tmp";

// `folder` is a descriptor of the directory; O_PATH suffices.  `flags` are those of open(2).  No
// symbolic link is followed.  Errors: system.
Result<UniqueFd> open_sparse_index(int folder, int flags);
// The attributes of the current index file, which are the state of the frame.  Errors: system.
Result<struct stat> stat_sparse_index(int folder);

// The entries of the directory other than the index.
struct SparseParts {
  std::vector<std::string> names;  // chunk files, and the lock file
  bool has_others = false;         // entries that do not belong to a frame
};
// Errors: system.
Result<SparseParts> sparse_parts(int folder);

// Runs change(fd, is_folder) for all parts and then for the directory itself, but not for the
// index, whose attributes are the shown ones.  The descriptors are O_PATH ones.
// Errors: system; those of `change`.
Status for_each_part(int folder, const std::function<Status(int fd, bool is_folder)>& change);
// The mode of the directory of a frame with the mode `mode`.  A user who may read the frame may
// search its directory in SOURCE.
mode_t sparse_folder_mode(mode_t mode);

// Returns when all files of the frame, and their names, would survive a power failure.  `folder` is
// open for reading.
// Errors: system.
Status sync_sparse_frame(int folder);

// Removes the sparse frame `name`.  The index is removed first: without it, the directory is not a
// frame.
// Errors: system; ENOTEMPTY if the directory contains other files; then nothing is removed.
Status remove_sparse_frame(int parent, const std::string& name);

}  // namespace framefs::fs
