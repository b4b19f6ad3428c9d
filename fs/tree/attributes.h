#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/limits.h"
#include "codec/frame/frame.h"
#include "fs/source/frame_origin.h"
#include "fs/tree/file_contents.h"
#include "fs/tree/frame_writers.h"
#include "fs/tree/open_containers.h"
#include "fs/tree/source_tree.h"

namespace framefs::fs {

// What setattr asks for.
struct AttributeChange {
  std::optional<uid_t> user;
  std::optional<gid_t> group;
  std::optional<mode_t> mode;  // permission bits
  std::optional<std::uint64_t> size;
  // As utimensat(2) has them: UTIME_NOW, UTIME_OMIT.
  std::optional<timespec> accessed;
  std::optional<timespec> modified;
};

// Owner, mode, times and extended attributes: those of the file in SOURCE, and what the mount says of
// a frame.
// Errors of all members: system, as the call on SOURCE failed; EROFS for changes where nothing can be
//   changed, or in a container.
// Threads: any number.
class Attributes {
 public:
  // Lifetime: all that is referred to outlives it.
  struct Parts {
    const SourceTree& tree;
    const NodeLocator& locator;
    const OpenContainers& containers;
    const FrameWriters& writers;
    FileContents& contents;
  };
  Attributes(const codec::Limits& limits, const Parts& parts) : limits_(limits), parts_(parts) {}

  // `file` is the node's where it is open, or null.  Returns the attributes afterwards.
  Result<struct stat> set(NodeId id, const AttributeChange& change, OpenFile* file);
  // Returns when the names in the directory would outlast a loss of power.
  Status sync_directory(NodeId id);

  // Errors of xattr(): ENODATA where there is none.
  Result<std::vector<std::string>> xattr_names(NodeId id);
  Result<std::vector<char>> xattr(NodeId id, const std::string& name);
  // Errors: EPERM for what the mount says of a frame; EEXIST, ENODATA as `flags`, those of
  //   setxattr(2), demand.
  Status set_xattr(NodeId id, const std::string& name, std::span<const std::byte> value, int flags);
  Status remove_xattr(NodeId id, const std::string& name);

 private:
  // attributes.cc
  [[nodiscard]] Result<UniqueFd> open_sparse(const Node& node) const;
  Status set_owner(const Node& node, int fd, const AttributeChange& change) const;
  Status set_mode(const Node& node, int fd, mode_t mode) const;
  Status set_times(const Node& node, int fd, const timespec& accessed, const timespec& modified);
  [[nodiscard]] Result<UniqueFd> open_attributes(const Node& node) const;

  // attributes_xattr.cc
  struct OpenedFrame {
    FrameOrigin origin;
    codec::Frame frame;
  };
  Result<OpenedFrame> open_frame(Node& node);
  std::vector<std::string> frame_xattr_names(Node& node);
  Result<std::vector<char>> frame_xattr(Node& node, std::string_view name);

  const codec::Limits limits_;
  const Parts parts_;
};

}  // namespace framefs::fs
