#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "fs/core/files/file.h"

namespace framefs::fuse {

using codec::Result;

// The mount namespace of a root daemon.  It holds SOURCE and what the daemon reads of the system,
// the latter read-only, and nothing else.  No system call thus reaches another file by its path,
// whichever rights the daemon has.
// Threads: one.
class OwnNamespace {
 public:
  // Moves this process into a new namespace.  `source` is a directory or a file, in the latter case
  // the file's directory is in the namespace.  Mounts below SOURCE are there, too, and later ones
  // appear if the mount that SOURCE lies on is shared.  With `read_only`, nothing in SOURCE can be
  // changed, and reads change no access times.
  // Descriptors of directories would lead out of the namespace; all are closed.  The root directory
  // becomes the working directory.
  // Errors: system; the process is as it was before, or has lost its root directory
  //   (ENOTRECOVERABLE) and must end.
  // Threads: the process must have no other thread.
  // `before_closing` runs in the new namespace, before the directories are closed.
  static Result<OwnNamespace> enter(
      const std::filesystem::path& source, bool read_only,
      const std::function<void()>& before_closing = [] {});

  // The path of SOURCE in the namespace, without links.
  [[nodiscard]] const std::filesystem::path& source() const noexcept { return source_; }

  // Removes the mounts of this filesystem from the namespace.  A mount that was made outside, onto
  // or below SOURCE, has appeared here, and would keep the filesystem busy after its end.
  static void remove_mounts_of(dev_t device);

 private:
  explicit OwnNamespace(std::filesystem::path source) : source_(std::move(source)) {}

  std::filesystem::path source_;
};

}  // namespace framefs::fuse
