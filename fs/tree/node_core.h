#pragma once

#include <optional>

#include "fs/core/mount_options.h"
#include "fs/core/threads/task_threads.h"
#include "fs/source/as_is_names.h"
#include "fs/source/directory_names.h"
#include "fs/source/source_handles.h"
#include "fs/source/source_probe.h"
#include "fs/tree/mount_root.h"
#include "fs/tree/names/name_map.h"
#include "fs/tree/nodes/node_folders.h"
#include "fs/tree/nodes/node_locator.h"
#include "fs/tree/nodes/node_probe.h"
#include "fs/tree/nodes/open_containers.h"
#include "fs/view/read_core.h"

namespace framefs::fs {

// The objects with which a mount finds what lies in SOURCE: from a shown name to an entry, and from
// a node to its file.  They change nothing there, and know no written data.
// Threads: any number.
class NodeCore {
 public:
  // `found` is SOURCE.  `watcher` is for tests.  With `handles`, the handles of the mount's files
  // outlive the mount.
  // Lifetime: `reads` outlives the `NodeCore`.
  NodeCore(const MountOptions& options, MountRoot found, ReadCore& reads,
           SourceProbe::Watcher watcher, std::optional<SourceHandles> handles);
  NodeCore(const NodeCore&) = delete;
  NodeCore& operator=(const NodeCore&) = delete;
  ~NodeCore() = default;

  // From a name to an entry.
  [[nodiscard]] const AsIsNames& as_is() const noexcept { return as_is_; }
  [[nodiscard]] SourceProbe& probe() noexcept { return probe_; }
  [[nodiscard]] DirectoryNames& directory_names() noexcept { return directory_names_; }
  [[nodiscard]] const NameMap& names() const noexcept { return names_; }
  // From a node to its file, its members or its entries.
  [[nodiscard]] NodeLocator& locator() noexcept { return locator_; }
  [[nodiscard]] const OpenContainers& containers() const noexcept { return containers_; }
  [[nodiscard]] const NodeFolders& folders() const noexcept { return folders_; }
  [[nodiscard]] const NodeProbe& node_probe() const noexcept { return node_probe_; }

 private:
  // Each object refers only to those before it.
  // Constant after construction.
  const AsIsNames as_is_;
  const std::optional<SourceHandles> handles_;
  // Self-synchronised.
  SourceProbe probe_;
  DirectoryNames directory_names_;
  TaskThreads namers_;
  const NameMap names_;
  NodeLocator locator_;
  const OpenContainers containers_;
  const NodeFolders folders_;
  const NodeProbe node_probe_;
};

}  // namespace framefs::fs
