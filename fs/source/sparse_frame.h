#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/core/file.h"

namespace framefs::fs {

// A sparse frame on disk: a directory with an index file, a file for each chunk, and nothing else but
// what programs that write it keep there.  What is in one chunk file: fs/source/chunk_files.h.

// The file that lists the chunks, and its successor while that is being written.  (Literals: they end
// with a zero for the system.)
inline constexpr std::string_view kSparseIndexName = "chunks.b2frame";
inline constexpr std::string_view kNextSparseIndexName = "chunks.b2frame.tmp";

// `folder` is a descriptor of the directory, O_PATH suffices; `flags` are those of open(2), and no
// symbolic link is followed.  Errors: system.
Result<UniqueFd> open_sparse_index(int folder, int flags);
// Of the index file as it is now: the state of the frame.  Errors: system.
Result<struct stat> stat_sparse_index(int folder);

// What the directory has in it beside the index.
struct SparseParts {
  std::vector<std::string> names;  // chunk files, and the lock file
  bool has_others = false;         // entries that are no part of a frame
};
// Errors: system.
Result<SparseParts> sparse_parts(int folder);

// Runs change(fd, is_folder) for all parts and then for the directory itself; not for the index, whose
// attributes are those shown.  The descriptors are O_PATH ones.  Errors: system; those of `change`.
Status for_each_part(int folder, const std::function<Status(int fd, bool is_folder)>& change);
// The mode of the directory of a frame that has this mode: a user who may read the file may look into
// the directory that it is in SOURCE.
mode_t sparse_folder_mode(mode_t mode);

// Removes the sparse frame `name`: first its index, without which it is none.
// Errors: system; ENOTEMPTY where the directory holds what is not the frame's, nothing being removed.
Status remove_sparse_frame(int parent, const std::string& name);

}  // namespace framefs::fs
