#pragma once

#include <sys/stat.h>

#include "fs/core/files/place.h"
#include "fs/write/frame_write_opening.h"

namespace framefs {

// Opens the frame at `path`, its file or the directory of a sparse frame, and takes its ownership:
// other framefs processes, and programs that respect the frame's lock file, then wait.
// `creates_lock_file`: as for fs::Blosc2Lock.
// Errors: system; those of FrameOwnership::take().
fs::Result<fs::WriteTarget> take_frame(const fs::Place& place, bool creates_lock_file);

// Sets the times of access and of the last change to those of `st`.  Errors: system.
fs::Status set_times(int fd, const struct stat& st);

}  // namespace framefs
