#pragma once

#include <filesystem>
#include <string>

#include "fs/core/file.h"

namespace framefs::fs {

// The SOURCE of a mount: a directory, or one entry of a directory.  Everything below is opened
// relative to it, and never by way of a symbolic link, so that nobody who can write to SOURCE can
// lead the daemon outside. Immutable; threads: any number.
class SourceRoot {
 public:
  // A directory, with all below it.  Errors: system.
  static Result<SourceRoot> open_directory(const std::filesystem::path& source);
  // One entry of a directory; of "/", which is none, the directory.  Errors: system.
  static Result<SourceRoot> open_entry(const std::filesystem::path& source);

  // The path of SOURCE itself, for open(): "." or the entry's name.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // Opens what `relative` names; any length of path will do.  A symbolic link at its end can be
  // opened with O_PATH | O_NOFOLLOW; O_CLOEXEC is implied.
  // Errors: system; ELOOP or EXDEV where a link or ".." was met on the way.
  [[nodiscard]] Result<UniqueFd> open(const std::string& relative, int flags) const;

 private:
  SourceRoot(UniqueFd directory, std::string path)
      : directory_(std::move(directory)), path_(std::move(path)) {}

  UniqueFd directory_;
  std::string path_;
};

}  // namespace framefs::fs
