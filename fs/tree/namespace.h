#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <optional>
#include <string>

#include "fs/core/mount_options.h"
#include "fs/tree/changes/entry_changes.h"
#include "fs/tree/changes/new_files.h"
#include "fs/tree/changes/parent_folders.h"
#include "fs/tree/file_contents.h"
#include "fs/tree/source_tree.h"

namespace framefs::fs {

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
    const ParentFolders& parents;
    const NewFiles& new_files;
    EntryChanges& entries;
    FileContents& contents;
  };
  Namespace(const MountOptions& options, const Parts& parts)
      : makes_devices_(options.devices), parts_(parts) {}

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

 private:
  [[nodiscard]] bool may_make(mode_t mode, dev_t device) const;
  Result<NodeEntry> enter_new(const ParentFolder& parent, const std::string& source_name,
                              const Caller& caller, mode_t mode);
  Result<Created> create_new(NodeId parent, const std::string& name, mode_t mode, int flags,
                             const Caller& caller, std::optional<NodeId>& existing);
  Result<Created> opened_existing(NodeId id, Result<OpenedFile> opened);
  Status rename(const NamedEntry& moved, const std::string& name, const ParentFolder& to,
                const std::string& new_name, unsigned flags);

  const bool makes_devices_;  // --devices
  const Parts parts_;
};

}  // namespace framefs::fs
