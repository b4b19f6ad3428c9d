#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/limits.h"
#include "fs/core/mount_options.h"
#include "fs/tree/content/frame_attributes.h"
#include "fs/tree/content/frame_writers.h"
#include "fs/tree/content/lock_files.h"
#include "fs/tree/nodes/node_locator.h"
#include "fs/tree/nodes/open_containers.h"

namespace framefs::fs {

// The extended attributes that a mount computes for the frame of a node.  Those of vl-metalayers
// can be changed; their state is that of the session that writes the frame, if there is one.
// Errors of all members: system, ENODATA for an attribute that does not exist; those of opening and
//   reading the frame.
// Threads: any number.
class FrameXattrs {
 public:
  // Lifetime: all referenced objects outlive the `FrameXattrs`.
  FrameXattrs(const MountOptions& options, const NodeLocator& locator,
              const OpenContainers& containers, const LockFiles& lock_files,
              const FrameWriters& writers)
      : limits_(options.limits),
        lists_info_(options.list_info),
        locator_(locator),
        containers_(containers),
        lock_files_(lock_files),
        writers_(writers) {}

  // The names that are listed; none if there is no frame that can be opened.
  [[nodiscard]] std::vector<std::string> names(Node& node) const;
  [[nodiscard]] Result<std::vector<char>> value(Node& node, std::string_view name) const;
  // `flags` are those of setxattr(2).
  // Errors: EPERM for an attribute that cannot be changed; EEXIST and ENODATA as `flags` require.
  Status set(Node& node, std::string_view name, std::span<const std::byte> content,
             int flags) const;
  // Errors: EPERM for an attribute that cannot be changed.
  Status remove(Node& node, std::string_view name) const;

 private:
  struct SharedFrame {
    Blosc2Lock lock;
    OpenedFrame opened;
  };
  [[nodiscard]] Result<SharedFrame> open_frame(Node& node) const;

  const codec::Limits limits_;
  const bool lists_info_;  // list the attributes that describe a frame
  const NodeLocator& locator_;
  const OpenContainers& containers_;
  const LockFiles& lock_files_;
  const FrameWriters& writers_;
};

}  // namespace framefs::fs
