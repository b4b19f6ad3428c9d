#pragma once

#include <memory>

#include "fs/core/mount_options.h"
#include "fs/tree/open_containers.h"
#include "fs/tree/open_file.h"
#include "fs/view/frame_chunks.h"
#include "fs/view/view.h"
#include "fs/write/frame_write_session.h"

namespace framefs::fs {

class ArrayView;

// How the bytes of nodes are seen: one view for each state of a node's content, and one for each
// session that writes it.  A view belongs to its node while the file is open.
// Threads: any number.
class NodeViews {
 public:
  // Lifetime: all that is referred to outlives it.
  NodeViews(const MountOptions& options, NodeTable& nodes, const OpenContainers& containers,
            const ReadServices& services)
      : cache_bytes_(options.cache_bytes),
        nodes_(nodes),
        containers_(containers),
        services_(services) {}

  // The view of an open file as it is in SOURCE now.  Errors: system; what cannot be opened as a frame
  // has a view all the same, which says why at each read.
  [[nodiscard]] Result<std::shared_ptr<const View>> current(const OpenFile& file) const;
  // The view of the node while `session` writes it; to be read within FrameWriteSession::reading().
  [[nodiscard]] std::shared_ptr<const View> of_session(Node& node,
                                                       const FrameWriteSession& session) const;
  // The same of a node that shows an array.
  [[nodiscard]] std::shared_ptr<const ArrayView> array_of(Node& node,
                                                          const FrameWriteSession& session) const;
  // To be told of a session's end, and of the state that it left.  What the kernel holds of the file
  // is what was written last, and stays right.
  void end_session(const FileKey& file, const FileIdentity& identity) const;

 private:
  [[nodiscard]] Result<std::shared_ptr<const View>> make(const OpenFile& file,
                                                         ContentId content) const;

  // Constant after construction.
  const std::uint64_t cache_bytes_;
  // Self-synchronised.
  NodeTable& nodes_;
  const OpenContainers& containers_;
  const ReadServices services_;
};

}  // namespace framefs::fs
