#pragma once

#include <string>
#include <utility>
#include <vector>

namespace framefs::fs {

// The path of an entry of a directory, which is "." for the root of the mount.
[[nodiscard]] inline std::string path_in(const std::string& directory, const std::string& name) {
  return directory == "." ? name : directory + "/" + name;
}

// The entries that a mount shows as SOURCE stores them, and stores as programs write them, although
// their names have the suffix of a frame (--as-is).  Immutable; threads: any number.
class AsIsNames {
 public:
  // The globs are those of path_glob.h.
  explicit AsIsNames(std::vector<std::string> globs) : globs_(std::move(globs)) {}

  [[nodiscard]] bool is_empty() const noexcept { return globs_.empty(); }

  // Whether the entry at `path`, in the mount or in SOURCE, is one of them: its name has the suffix
  // of a frame, and a glob matches it, or it lies in a directory of this kind.
  [[nodiscard]] bool covers(const std::string& path) const;

  // Whether a glob with a slash could match an entry below `directory`, so that the entry depends
  // on the directory's path.
  [[nodiscard]] bool depends_on(const std::string& directory) const;

 private:
  const std::vector<std::string> globs_;
};

}  // namespace framefs::fs
