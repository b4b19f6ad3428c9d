#pragma once

#include <filesystem>
#include <string>

#include "fs/core/file.h"

namespace framefs::fs {

// The SOURCE of a mount: a directory, or one file in its directory.  Everything below is opened
// relative to it, and never by way of a symbolic link, so that nobody who can write to SOURCE can
// lead the daemon outside. Immutable; threads: any number.
class SourceRoot {
 public:
  // Errors: system.
  static Result<SourceRoot> open(const std::filesystem::path& source);

  // The path of SOURCE itself, for open(): "." or, for a single file, its name.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool is_directory() const noexcept { return is_directory_; }

  // Opens what `relative` names; any length of path will do.  A symbolic link at its end can be
  // opened with O_PATH | O_NOFOLLOW; O_CLOEXEC is implied.
  // Errors: system; ELOOP or EXDEV where a link or ".." was met on the way.
  [[nodiscard]] Result<UniqueFd> open(const std::string& relative, int flags) const;

 private:
  SourceRoot(UniqueFd directory, std::string path, bool is_directory)
      : directory_(std::move(directory)), path_(std::move(path)), is_directory_(is_directory) {}

  UniqueFd directory_;
  std::string path_;
  bool is_directory_;
};

}  // namespace framefs::fs
