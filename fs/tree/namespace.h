#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/core/guarded.h"
#include "fs/core/mount_options.h"
#include "fs/source/folder.h"
#include "fs/tree/array_candidates.h"
#include "fs/tree/file_contents.h"
#include "fs/tree/frame_writers.h"
#include "fs/tree/name_map.h"
#include "fs/tree/name_rules.h"
#include "fs/tree/node_locator.h"
#include "fs/tree/source_tree.h"
#include "fs/write/new_frame_policy.h"
#include "fs/write/ownership/frame_ownership.h"

namespace framefs::fs {

// The requesting process.  It owns a new entry if the daemon may change the entry's owner.
struct Caller {
  uid_t user = 0;
  gid_t group = 0;
  mode_t umask = 0;
};

// Creates, links, renames and removes entries.
// Errors of all members: system; EROFS in a read-only mount or in a container; EPERM for a name
//   that SOURCE would show differently, such as "x.b2frame" for a file that must be shown under
//   that name, and for changes of a name that is not listed (NameMap::Found); EXDEV for a new name
//   that would change what is shown as it is stored (AsIsNames).
// Threads: any number.
class Namespace {
 public:
  // Lifetime: all referenced objects outlive the `Namespace`.
  struct Parts {
    SourceTree& tree;
    NodeLocator& locator;
    SourceProbe& probe;
    const NodeFolders& folders;
    const NameMap& names;
    const NameRules& rules;
    const AsIsNames& as_is;
    const NewFramePolicy& new_frames;
    const LockFiles& lock_files;
    const FrameWriters& writers;
    FileContents& contents;
    ArrayCandidates& arrays;
  };
  Namespace(const MountOptions& options, const Parts& parts)
      : has_acls_(options.acl), makes_devices_(options.devices), parts_(parts) {}

  // Each member counts one lookup of the entry.  The kernel has applied the caller's umask to the
  // modes, unless the mount shows access control lists.
  Result<NodeEntry> make_directory(NodeId parent, const std::string& name, mode_t mode,
                                   const Caller& caller);
  // Creates a fifo, socket, device or regular file.
  Result<NodeEntry> make_node(NodeId parent, const std::string& name, mode_t mode, dev_t device,
                              const Caller& caller);
  Result<NodeEntry> make_symlink(NodeId parent, const std::string& name, const std::string& target,
                                 const Caller& caller);
  Result<NodeEntry> make_link(NodeId id, NodeId parent, const std::string& name);
  struct Created {
    NodeEntry entry;
    OpenedFile opened;
  };
  // Creates a regular file: a frame or a plain file, according to WriteOptions.  Without O_EXCL, an
  // existing file is opened.  `flags` are those of open(2).
  Result<Created> create_file(NodeId parent, const std::string& name, mode_t mode, int flags,
                              const Caller& caller);

  Status remove_file(NodeId parent, const std::string& name);
  Status remove_directory(NodeId parent, const std::string& name);
  // `flags` are those of renameat2(2), RENAME_NOREPLACE and RENAME_EXCHANGE.
  Status rename(NodeId parent, const std::string& name, NodeId new_parent,
                const std::string& new_name, unsigned flags);

  // Puts an array in the place of the frame that `node` shows as `name`.  `array` is a file without
  // a name, which has the bytes and the attributes that the frame had in the state `from`.
  // `has_ended`: no requests are served any more, and handles of the file do not matter.
  // Errors: EBUSY if the frame is in use; ESTALE if it has changed, or is no longer there; EEXIST
  //   if the array's name is taken.
  Status put_array(const Node& node, const std::string& name, int array, const FileIdentity& from,
                   bool has_ended);
  // To be called before a file is truncated to no bytes by its name.  If the file is an array, and
  // a rule makes arrays of files with its name, puts an empty frame in its place.  The kernel then
  // looks the name up again, and truncates that frame.
  // Errors: ESTALE after this has succeeded; EPERM if the array has other names.
  Status replace_truncated_array(const Node& node);

 private:
  // A directory in which names change.
  struct Parent {
    std::shared_ptr<Node> node;
    std::unique_ptr<DiskFolder> folder;
    struct stat stat{};

    [[nodiscard]] int fd() const noexcept { return folder->fd(); }
  };
  // An entry of such a directory.
  struct Member {
    const Parent& parent;
    NameMap::Found found;
  };

  // Runs body(), which changes names.  No array takes the place of a frame meanwhile.
  template <class Body>
  auto changing(const Body& body) const {
    return changes_.read([&](const Changes&) { return body(); });
  }

  Result<Parent> open_parent(NodeId id);
  Result<Parent> open_parent(std::shared_ptr<Node> node);
  Result<Parent> open_parent_for(NodeId id, const std::string& new_name);
  [[nodiscard]] Result<std::optional<NameMap::Found>> find_in(const Folder& folder,
                                                              const std::string& name) const;
  [[nodiscard]] Status check_new_name(const Parent& in, const std::string& name,
                                      ShownAs shown_as) const;
  [[nodiscard]] std::string path_of(const Parent& in, const std::string& name) const;

  // namespace_create.cc
  [[nodiscard]] bool may_make(mode_t mode, dev_t device) const;
  Result<Created> create_new(NodeId parent, const std::string& name, mode_t mode, int flags,
                             const Caller& caller, std::optional<NodeId>& existing);
  [[nodiscard]] mode_t mode_of_new(const Parent& parent, mode_t mode, const Caller& caller) const;
  Result<NodeEntry> enter_new(const Parent& parent, const std::string& source_name,
                              const Caller& caller, mode_t mode);
  // `folder` is the folder of `parent`.  `leaving` are entries of it that will be removed.
  [[nodiscard]] Result<NewFile> plan_file(const Parent& parent, const Folder& folder,
                                          const std::string& name,
                                          std::vector<std::string> leaving = {}) const;
  Result<BackingFile> make_file(const Parent& parent, NewFile& plan, mode_t mode,
                                const Caller& caller);
  Result<OpenedFile> open_existing(NodeId id, int flags);
  Result<Created> opened_existing(NodeId id, Result<OpenedFile> opened);

  // namespace_rename.cc
  Status rename(const Member& moved, const std::string& name, const Parent& to,
                const std::string& new_name, unsigned flags);
  [[nodiscard]] Result<std::string> place_of(const Member& moved, const Parent& to,
                                             const std::string& new_name,
                                             const NameMap::Found* replaced) const;
  template <class Remove>
  Status removing(const Member& member, const Remove& remove);
  Status remove_source(int parent, const std::string& source_name, const NameMap::Found& what);
  [[nodiscard]] std::shared_ptr<const void> session_for_readers(const NameMap::Found& found) const;
  Status remove_member(const Member& member);
  Status rename_source(const Member& moved, const Parent& to, const std::string& source_name,
                       unsigned flags);
  static Status sync_committed(const Member& member);
  Status make_durable(const Member& moved);
  // The ownership of a frame, by the session that writes it or without one.
  struct Owned {
    WriteSessionTable::Session session;
    std::optional<FrameWriteSession::Change> change;
    std::unique_ptr<FrameOwnership> ownership;
  };
  Result<Owned> own_replaced(const Member& target, std::chrono::milliseconds patience =
                                                       FrameWriteSession::kPatience) const;
  Status replace(const Member& moved, const Member& target, const std::string& new_name);
  Status replace_elsewhere(const Member& moved, const Member& target,
                           const std::string& source_name);
  Status replace_by_exchange(const Member& moved, const Member& target);
  Status exchange(const Member& one, const std::string& one_name, const Member& other,
                  const std::string& other_name);
  Status exchange_in_one_step(const Member& one, const Member& other);

  // namespace_arrays.cc
  struct NewArray {
    int fd = -1;  // of a file without a name
    std::string name;
  };
  Status exchange_for_array(const Node& node, const Member& member, const NewArray& array,
                            const FileIdentity& from);
  [[nodiscard]] Result<Owned> own_now(const Member& member) const;
  Result<Member> member_of(const Parent& parent, const Node& node, const std::string& name) const;
  Status unlink_replaced(const Member& member);

  const bool has_acls_;       // the mount shows access control lists
  const bool makes_devices_;  // --devices
  const Parts parts_;
  // Read by all that change names; written by those that put one file in the place of another
  // without a request for it.
  struct Changes {};
  Shared<Changes> changes_{std::in_place};
};

}  // namespace framefs::fs
