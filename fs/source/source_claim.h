#pragma once

#include <filesystem>
#include <vector>

#include "fs/core/files/file.h"

namespace framefs::fs {

// The claim of a writable mount on its SOURCE.  With --writeback the kernel keeps the sizes of
// files to itself, so that such a mount excludes all other writable mounts of its files: mounts of
// the same SOURCE, of directories above it, and of files and directories below it.
//
// Each mount holds read locks on SOURCE's directory and on those above it, as far as they are on
// one filesystem and can be opened.  The bytes that it locks there say what it is.  Such locks
// conflict with no other lock, and F_OFD_GETLK finds them all the same.
// Lifetime: the claim lasts as long as the object, or as the descriptors that hold its locks.
class SourceClaim {
 public:
  // `source` is a directory or one file.
  // Errors: system; EBUSY if another mount excludes this one, or is excluded by it.
  static Result<SourceClaim> take(const std::filesystem::path& source, bool writeback);

  // The descriptors that hold the locks, for a process that keeps them.
  [[nodiscard]] const std::vector<UniqueFd>& directories() const noexcept { return directories_; }

 private:
  explicit SourceClaim(std::vector<UniqueFd> directories) : directories_(std::move(directories)) {}

  std::vector<UniqueFd> directories_;
};

}  // namespace framefs::fs
