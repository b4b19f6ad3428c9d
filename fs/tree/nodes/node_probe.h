#pragma once

#include <string>

#include "fs/source/as_is_names.h"
#include "fs/source/backing_file.h"
#include "fs/source/source_probe.h"
#include "fs/tree/nodes/node_locator.h"
#include "fs/write/frame_write_session.h"

namespace framefs::fs {

// Reads SOURCE for nodes: the attributes of their files, and what these contain.  Members of
// containers have no files of their own; OpenContainers reads them.
// Errors of all members: system, from the failed call on SOURCE; ESTALE for a file that is not
//   found.
// Threads: any number.
class NodeProbe {
 public:
  // `expected` is the content to look for in a SOURCE of one entry.
  // Lifetime: all referenced objects outlive the `NodeProbe`.
  NodeProbe(Expected expected, const AsIsNames& as_is, const NodeLocator& locator,
            SourceProbe& probe)
      : expected_(expected), as_is_(as_is), locator_(locator), probe_(probe) {}

  // The entry of a node, wherever its file is now.  If its content is `known`, that is not read.
  [[nodiscard]] Result<SourceEntry> entry(const Node& node,
                                          const FrameSummary* known = nullptr) const;
  // The same for a node whose content is known, by a descriptor of its file, which may be an O_PATH
  // descriptor.
  [[nodiscard]] Result<SourceEntry> entry_at(int fd, const Node& node,
                                             const FrameSummary& known) const;
  // The same by the node's open backing file.
  [[nodiscard]] Result<SourceEntry> entry_of(const BackingFile& file, const Node& node) const;
  // The same for a sparse frame whose files were removed: its session has their attributes.
  [[nodiscard]] Result<SourceEntry> entry_of(const FrameWriteSession& session,
                                             const Node& node) const;

 private:
  [[nodiscard]] Expected expected_at(const Node& node, const std::string& path) const;
  [[nodiscard]] Result<SourceEntry> probe_opened(const Node& node, UniqueFd fd) const;
  [[nodiscard]] Result<SourceEntry> probe_at(const std::string& path, const Node& node,
                                             const FrameSummary* known) const;

  // Constant after construction.
  const Expected expected_;
  const AsIsNames& as_is_;
  // Self-synchronised.
  const NodeLocator& locator_;
  SourceProbe& probe_;
};

}  // namespace framefs::fs
