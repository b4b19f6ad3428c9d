#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fs/core/mount_options.h"
#include "fs/tree/content/frame_writers.h"
#include "fs/tree/content/frame_xattrs.h"
#include "fs/tree/file_changes.h"
#include "fs/tree/source_tree.h"

namespace framefs::fs {

// The caller of a change that clears the setuid and setgid bits of a file, as Linux does for users
// without CAP_FSETID.
struct Changer {
  // Whether the caller owns a file of that owner, or is root.
  std::function<bool(uid_t)> owns;
  // Whether the caller may keep the setgid bit of a file with this group.
  std::function<bool(gid_t)> keeps_setgid;
};

// The changes that one setattr request contains.
struct AttributeChange {
  std::optional<uid_t> user;
  std::optional<gid_t> group;
  std::optional<mode_t> mode;  // permission bits
  std::optional<std::uint64_t> size;
  // As in utimensat(2), including UTIME_NOW and UTIME_OMIT.
  std::optional<timespec> accessed;
  std::optional<timespec> modified;
  // The caller, if it may not keep the setuid and setgid bits of the file.
  std::optional<Changer> clears_bits_of;
};

// Owner, mode, times and extended attributes.  They are those of the file in SOURCE; for a frame,
// the mount adds attributes that describe the frame.
// Errors of all members: system, from the failed call on SOURCE; EROFS for a change in a read-only
//   mount or in a container.
// Threads: any number.
class Attributes {
 public:
  // Lifetime: all referenced objects outlive the `Attributes`.
  struct Parts {
    const SourceTree& tree;
    const FrameWriters& writers;
    FileChanges& changes;
    const FrameXattrs& frames;
  };
  Attributes(const MountOptions& options, const Parts& parts)
      : has_acls_(options.acl), parts_(parts) {}

  struct Changed {
    struct stat stat{};
    bool is_open = false;  // the kernel compares no content with that of its pages
  };
  // `file` is an open file of the node, or null.  Returns the attributes after the change.
  Result<Changed> set(NodeId id, const AttributeChange& change, OpenFile* file);
  // Clears the bits of a file that a user changes who may not keep them: the setuid bit, and the
  // setgid bit, if the group may execute the file or the user may not keep the bit.  Returns
  // whether there were any.
  [[nodiscard]] Result<bool> clear_setid_bits(const OpenFile& file, const Changer& caller) const;
  // Returns when the names in the directory would survive a power failure.
  Status sync_directory(NodeId id);

  // Errors of xattr(): ENODATA for an attribute that does not exist.
  Result<std::vector<std::string>> xattr_names(NodeId id);
  Result<std::vector<char>> xattr(NodeId id, const std::string& name);
  using KeepsSetgid = decltype(Changer::keeps_setgid);
  // `keeps_setgid` is asked when the caller sets the file's access control list.
  // Errors: EPERM for an attribute that the mount computes for a frame; EEXIST and ENODATA as
  //   `flags`, those of setxattr(2), require.
  Status set_xattr(NodeId id, const std::string& name, std::span<const std::byte> value, int flags,
                   const KeepsSetgid& keeps_setgid);
  Status remove_xattr(NodeId id, const std::string& name);

 private:
  // attributes.cc
  Result<Changed> set(const std::shared_ptr<Node>& node, const AttributeChange& change,
                      OpenFile* file);
  // The file in SOURCE that has a node's attributes; of a sparse frame, its index file.
  struct Attributed {
    std::shared_ptr<const FileReader> handle;  // that of the node's open handles, or null
    UniqueFd path;                             // else opened with O_PATH
    UniqueFd folder;                           // only for a sparse frame: its directory
    struct stat stat{};                        // as it was opened

    [[nodiscard]] int fd() const noexcept { return handle ? handle->fd() : path.get(); }
  };
  using Change = std::function<Status(const Attributed&)>;
  [[nodiscard]] Status changing(const Node& node, const Attributed& opened,
                                const Change& change) const;
  Status apply(Node& node, const Attributed& opened, const AttributeChange& change, OpenFile* file);
  static Status set_owner(const Attributed& file, const AttributeChange& change);
  static Status set_mode(const Attributed& file, mode_t mode);
  [[nodiscard]] Result<bool> clear_setid_bits(const Node& node, const Attributed& file,
                                              const Changer& caller, bool needs_owner) const;
  Status set_times(const Node& node, int fd, const timespec& accessed, const timespec& modified);
  [[nodiscard]] Result<Attributed> open_attributes(const Node& node) const;

  // attributes_xattr.cc
  [[nodiscard]] Result<bool> passes_through(const Node& node, std::string_view name) const;
  [[nodiscard]] Result<bool> has_own_acl(const Node& node) const;
  static Status clear_setgid_bit(const Attributed& file, const KeepsSetgid& keeps_setgid);

  const bool has_acls_;  // the mount shows access control lists
  const Parts parts_;
};

}  // namespace framefs::fs
