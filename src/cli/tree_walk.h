#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "codec/core/result.h"
#include "fs/core/files/place.h"

namespace framefs {

// Selects the entries of a directory tree.  A glob without a slash matches names, a glob with a
// slash matches paths relative to the top of the tree, as in fnmatch(3).
struct TreeFilter {
  std::vector<std::string> include;  // empty: everything
  std::vector<std::string>
      exclude;  // applied before `include`; excludes directories with their content

  [[nodiscard]] bool excludes(const std::string& relative) const;
  [[nodiscard]] bool takes(const std::string& relative) const;
};

// An entry below a directory that was named on the command line.
struct TreeEntry {
  fs::Place place;
  std::string relative;          // the path below that directory
  struct stat stat{};            // as lstat(2) returns it
  bool is_sparse_frame = false;  // a directory of chunk files; visited like a file

  // For messages.
  [[nodiscard]] const std::string& path() const noexcept { return place.path(); }
};

// Visits all entries below `top` in the order of names, a directory before its content.  Symbolic
// links are visited, not followed, and no directory that a link replaces meanwhile is entered.  The
// depth of the tree is not limited.  The visitor applies `filter.include`, because the walk enters
// directories of every name.
class TreeWalk {
 public:
  enum class Next : std::uint8_t {
    entry,  // the walk goes on, in the entry if it is a directory
    skip,   // the walk goes on after the entry
    end,
  };
  using Visit = std::function<Next(const TreeEntry& entry)>;
  // Called after the content of a directory, with its path below the top: "" for the top itself.
  // May be empty.
  using Leave = std::function<void(const std::string& relative, const struct stat& stat)>;
  // Called for each directory that could not be listed.
  using Fail = std::function<void(const std::string& path, const codec::Error& error)>;

  TreeWalk(const TreeFilter& filter, Visit visit, Leave leave, Fail fail);

  void walk(const fs::Tree& top);

 private:
  // A directory on the way down.
  struct Level {
    std::size_t length = 0;  // of its path below the top, at the begin of path_
    struct stat stat{};
    std::vector<std::string> names{};
    std::size_t next = 0;
  };
  void enter(const fs::Tree& top, const struct stat& stat);
  [[nodiscard]] Next visit_next(const fs::Tree& top, Level& level);

  const TreeFilter& filter_;
  const Visit visit_;
  const Leave leave_;
  const Fail fail_;
  std::vector<Level> levels_;
  std::string path_;                // of the innermost level, and perhaps of the entry in it
  fs::Place::Directory directory_;  // of the innermost level; null: to be opened
};

// The names in an open directory, in order.  Errors: system.
fs::Result<std::vector<std::string>> names_in(int directory);

// Visits the files and sparse frames below `top` that have the names of frames or containers and
// that the filter takes, as a TreeWalk does.  `visit` returns false to end the walk.
void walk_frames(const TreeFilter& filter, const std::filesystem::path& top,
                 const std::function<bool(const fs::Place& place)>& visit,
                 const TreeWalk::Fail& fail);

// Returns whether a path is a directory of files.  The directory of a sparse frame is not, nor is a
// directory with the name of a frame.
bool is_tree(const std::filesystem::path& path);

// Returns whether a path is the directory of a sparse frame whose index file is missing.
bool is_frame_without_index(const fs::Place& place);

}  // namespace framefs
