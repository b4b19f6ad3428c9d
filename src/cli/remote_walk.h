#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/result.h"
#include "fs/remote/remote_tree.h"

namespace framefs {

// A walk through directories of a server, in the order of their names: the caller takes an entry,
// and decides whether to enter it.
// Threads: one.
class RemoteWalk {
 public:
  struct Entry {
    std::shared_ptr<const fs::OpenFolder> folder;
    fs::DirectoryEntry entry;
    std::string path;  // below the root
  };

  // Lifetime: `tree` outlives the walk.
  explicit RemoteWalk(fs::RemoteTree& tree) : tree_(tree) {}

  // The entries of a directory come next.
  // Errors: ENAMETOOLONG for a path of PATH_MAX bytes, because a server may show a directory inside
  //   itself; those of opening and listing the directory.
  codec::Status enter(fs::NodeId directory, const std::string& path);
  // Nothing at the end.
  std::optional<Entry> next();

 private:
  fs::RemoteTree& tree_;
  std::vector<Entry> pending_;  // the next one last
};

}  // namespace framefs
