#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "codec/core/result.h"

namespace framefs {

// Selects the entries of a directory tree.  A glob without a slash matches names, a glob with a
// slash matches paths relative to the top of the tree, as in fnmatch(3).
struct TreeFilter {
  std::vector<std::string> include;  // empty: everything
  std::vector<std::string>
      exclude;  // applied before `include`; excludes directories with their content

  [[nodiscard]] bool excludes(const std::filesystem::path& relative) const;
  [[nodiscard]] bool takes(const std::filesystem::path& relative) const;
};

// An entry below a directory that was named on the command line.
struct TreeEntry {
  std::filesystem::path path;
  std::filesystem::path relative;  // relative to that directory
  struct stat stat{};              // as lstat(2) returns it
  bool is_sparse_frame = false;    // a directory of chunk files; visited like a file
};

// Visits all entries below `top` in the order of names, a directory before its content.  Symbolic
// links are visited, not followed.  The visitor applies `filter.include`, because the walk enters
// directories of every name.
class TreeWalk {
 public:
  // Returns false to end the walk.
  using Visit = std::function<bool(const TreeEntry& entry)>;
  // Called for each directory that could not be listed.
  using Fail = std::function<void(const std::filesystem::path& path, const codec::Error& error)>;

  TreeWalk(const TreeFilter& filter, Visit visit, Fail fail);

  void walk(const std::filesystem::path& top) const;

 private:
  // Returns false if a visitor ended the walk.
  [[nodiscard]] bool directory(const std::filesystem::path& path,
                               const std::filesystem::path& relative) const;

  const TreeFilter& filter_;
  const Visit visit_;
  const Fail fail_;
};

// Visits the files and sparse frames below `top` that have the names of frames or containers and
// that the filter takes, as a TreeWalk does.  `visit` returns false to end the walk.
void walk_frames(const TreeFilter& filter, const std::filesystem::path& top,
                 const std::function<bool(const std::filesystem::path& path)>& visit,
                 const TreeWalk::Fail& fail);

// Returns whether a path is a directory of files.  The directory of a sparse frame is not, nor is a
// directory with the name of a frame.
bool is_tree(const std::filesystem::path& path);

// Returns whether a path is the directory of a sparse frame whose index file is missing.
bool is_frame_without_index(const std::filesystem::path& path);

}  // namespace framefs
