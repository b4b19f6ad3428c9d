#pragma once

#include <sys/stat.h>

#include <memory>

#include "codec/core/limits.h"
#include "fs/core/mount_options.h"
#include "fs/source/as_is_names.h"
#include "fs/source/directory_names.h"
#include "fs/source/folder.h"
#include "fs/source/source_probe.h"
#include "fs/tree/nodes/node_locator.h"
#include "fs/tree/nodes/open_containers.h"

namespace framefs::fs {

// Opens the folders whose entries are shown in directories.
// Errors of all members: system; ENOTDIR for a node that is shown as a file.
// Threads: any number.
class NodeFolders {
 public:
  // `expected` is the content to look for in a SOURCE of one entry.
  // Lifetime: all referenced objects outlive the `NodeFolders`.
  NodeFolders(const MountOptions& options, Expected expected, const AsIsNames& as_is,
              const NodeLocator& locator, const OpenContainers& containers, SourceProbe& probe,
              DirectoryNames& directory_names)
      : limits_(options.limits),
        expected_(expected),
        as_is_(as_is),
        locator_(locator),
        containers_(containers),
        probe_(probe),
        directory_names_(directory_names) {}

  // With the `access` O_PATH, names can be looked up in the folder, and it cannot be listed.
  [[nodiscard]] Result<std::unique_ptr<Folder>> open(Node& node, int access) const;
  // The same for a directory of SOURCE, with its attributes.
  struct OnDisk {
    std::unique_ptr<DiskFolder> folder;
    struct stat stat{};
  };
  [[nodiscard]] Result<OnDisk> open_on_disk(const Node& node, int access) const;

 private:
  // Constant after construction.
  const codec::Limits limits_;
  const Expected expected_;
  const AsIsNames& as_is_;
  // Self-synchronised.
  const NodeLocator& locator_;
  const OpenContainers& containers_;
  SourceProbe& probe_;
  DirectoryNames& directory_names_;
};

}  // namespace framefs::fs
