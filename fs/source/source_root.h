#pragma once

#include <filesystem>
#include <string>

#include "fs/core/files/file.h"
#include "fs/core/files/place.h"

namespace framefs::fs {

// The SOURCE of a mount: a directory, or one entry of a directory.  Everything below is opened
// relative to it, and never through a symbolic link, so that a user who can write to SOURCE cannot
// lead the daemon outside.  Immutable.
// Threads: any number.
class SourceRoot {
 public:
  // A directory and everything below it.  Errors: system.
  static Result<SourceRoot> open_directory(const std::filesystem::path& source);
  // One entry of a directory.  "/" is not an entry, so it is opened as a directory.  Errors:
  // system.
  static Result<SourceRoot> open_entry(const std::filesystem::path& source);
  // The same for an entry that a command has found.  Errors: system.
  static Result<SourceRoot> entry_at(const Place& place);

  // Whether the directory was removed after it was opened.  It has no links then.  Directories of
  // some filesystems never have any, and do not count.
  [[nodiscard]] bool is_removed() const;

  // The path of SOURCE itself, for open(): "." or the entry's name.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // Opens the entry at the path `relative`, which may have any length.  To open a symbolic link at
  // its end, pass O_PATH | O_NOFOLLOW; O_CLOEXEC and O_NONBLOCK are implied.
  // Errors: system; ELOOP or EXDEV if the path contains a link or "..".
  [[nodiscard]] Result<UniqueFd> open(const std::string& relative, int flags) const;

 private:
  SourceRoot(UniqueFd directory, std::string path);

  UniqueFd directory_;
  std::string path_;
  bool has_links_;
};

}  // namespace framefs::fs
