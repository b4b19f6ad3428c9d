#pragma once

#include <sys/stat.h>

#include <memory>
#include <vector>

#include "fs/source/source_handles.h"
#include "fs/tree/nodes/node_locator.h"

namespace framefs::fs {

// Finds the nodes of numbers from file handles that outlive the mount: the number names the inode,
// and SOURCE's own handle of that inode leads to the file.
// Threads: any number.
class ExportedNodes {
 public:
  // Lifetime: `locator` outlives the `ExportedNodes`.
  explicit ExportedNodes(NodeLocator& locator) : locator_(locator) {}

  // The node of a number that the table does not have, or has for a file that had the inode before.
  // It has a place if the kernel knows the path of the file, which holds for all directories.
  // Counts one lookup.
  // Errors: system; ESTALE if the number leads to no file, or if no handle outlives the mount.
  Result<std::shared_ptr<Node>> find(NodeId number);

 private:
  using Steps = std::vector<NodeTable::Step>;
  [[nodiscard]] Steps steps_to(const SourceHandles& handles, int file, const struct stat& st) const;

  NodeLocator& locator_;
};

}  // namespace framefs::fs
