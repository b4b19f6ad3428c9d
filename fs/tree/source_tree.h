#pragma once

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/core/mount_options.h"
#include "fs/core/retries.h"
#include "fs/tree/content/open_file.h"
#include "fs/tree/content/snapshots.h"
#include "fs/tree/names/name_map.h"
#include "fs/tree/nodes/exported_nodes.h"
#include "fs/tree/nodes/inode_numbers.h"
#include "fs/tree/nodes/node_folders.h"
#include "fs/tree/nodes/node_locator.h"
#include "fs/tree/records/kernel_pages.h"
#include "fs/write/write_core.h"

namespace framefs::fs {

// A node and its attributes: the result of a lookup.
struct NodeEntry {
  NodeId id = 0;
  struct stat stat{};
  // False for a full name that is found but not listed.  The kernel must not keep such a name,
  // because it does not learn that the name goes when the entry loses the listed one.
  bool is_listed = true;
  // The generation in the file handles of the node; empty: that of the mount.
  std::optional<std::uint32_t> generation{};
};

// The readers' part of the mounted tree: names, attributes, directories.
//
// Every size, time and state in an answer comes from a Snapshot.
//
// Errors of all members: system, from the failed call on SOURCE; ESTALE for a node that is not
//   found.
// Threads: any number.
class SourceTree {
 public:
  // Lifetime: all referenced objects outlive the tree.
  struct Parts {
    NodeLocator& locator;
    const NodeFolders& folders;
    const NameMap& names;
    const Snapshots& snapshots;
    WriteCore& writes;
  };
  SourceTree(const MountOptions& options, const Parts& parts);

  [[nodiscard]] NodeLocator& locator() const noexcept { return locator_; }
  // Whether the mount is read-only: by option, or because SOURCE allows no changes.
  [[nodiscard]] bool is_read_only() const noexcept { return read_only_; }
  // EPERM for a change of an array that its header or size does not allow; logs it.
  [[nodiscard]] std::unexpected<Error> refuse_array_change(const Node& node) const;
  // Errors: EROFS; a member of a container is never writable.  EPERM, which the log explains, for a
  // node that was found by its full name.
  [[nodiscard]] Status check_writable(const Node& node) const;

  // Each counts one lookup of the node found.
  Result<NodeEntry> lookup(NodeId parent, const std::string& name);
  Result<NodeEntry> lookup(const OpenFolder& directory, const DirectoryEntry& entry);
  // The node of a number from a file handle, also if the kernel has forgotten it, and its parent.
  // An exported number may be that of an earlier mount.
  // Errors: ESTALE if the file is not where it was last seen, or is shown as something else.
  Result<NodeEntry> lookup_number(NodeId id);
  Result<NodeEntry> lookup_parent(NodeId id);
  void forget(NodeId id, std::uint64_t lookups);
  [[nodiscard]] Result<std::shared_ptr<Node>> find(NodeId id) const {
    return locator_.nodes().find(id);
  }

  // Runs body(node), (std::shared_ptr<Node>) -> Result<...>.  Runs it again if it fails with ESTALE
  // because the number leads to another node by now (NodeTable::replace()).
  template <class Body>
  auto with_node(NodeId id, const Body& body) const -> decltype(body(std::shared_ptr<Node>())) {
    for (Retries retries;;) {
      FRAMEFS_TRY(const auto node, find(id));
      auto result = body(node);
      if (result || result.error().sys != ESTALE || !retries.are_left()) return result;
      locator_.wait_for_renames();
      const auto now = find(id);
      if (!now || *now == node) return result;
    }
  }

  Result<struct stat> stat_node(NodeId id) const;
  Result<struct stat> stat_node(Node& node) const;
  struct AttributesAndContent {
    struct stat stat{};
    ContentState content;
  };
  // The attributes of a node and the state of its content, of one moment.  `fd` is a descriptor of
  // the node's file that the caller has opened.
  Result<AttributesAndContent> stat_with_content(Node& node, int fd) const;
  Result<struct stat> stat_file(const OpenFile& file) const;
  // The same for a file that was just created, whose `entry` is known.
  struct stat stat_new(const OpenFile& file, const SourceEntry& entry) const;
  // Of an immutable mount: call this after a request for the node has failed because its file has
  // changed.  The first call logs the reason and returns true: the kernel is to ask for the
  // attributes again, and then for the name.
  [[nodiscard]] bool note_change(NodeId id, const Error& error) const;
  Result<std::string> read_link(NodeId id) const;
  Status check_access(NodeId id, int mask) const;
  Result<struct statvfs> stat_filesystem() const;

  Result<std::unique_ptr<OpenFolder>> open_directory(NodeId id) const;
  // Names and identities; lookup() returns sizes and times.
  Result<std::vector<DirectoryEntry>> list(const OpenFolder& directory) const;
  // The same for readers who take the entries piece by piece.
  // Lifetime: `directory` outlives the listing.
  Result<std::shared_ptr<const ShownListing>> open_listing(const OpenFolder& directory) const;
  // The inode number to show for an entry of a listing that contains no attributes.
  std::uint64_t shown_inode(const OpenFolder& directory, const DirectoryEntry& entry);

  [[nodiscard]] const Snapshots& snapshots() const noexcept { return snapshots_; }
  // The moment at which a name begins to be looked for.
  [[nodiscard]] NodeTable::Moment now() const { return locator_.nodes().now(); }
  // Enters the node of `now` below `parent`.  Counts one lookup.
  NodeEntry enter(const std::shared_ptr<Node>& parent, const std::string& source_name,
                  ShownAs shown_as, const Snapshot& now, bool is_listed = true);
  // The node of a file in a directory on disk, which was found after `since`.  Counts one lookup.
  std::shared_ptr<Node> enter_file(const std::shared_ptr<Node>& parent,
                                   const std::string& source_name, ShownAs shown_as,
                                   const SourceEntry& entry, NodeTable::Moment since);

 private:
  Result<NodeEntry> shown_by_number(const std::shared_ptr<Node>& node);
  static std::optional<FileIdentity> version_of(const NodeKey& key, const SourceEntry& entry);
  static NodeKey key_of(const Node& parent, const std::string& source_name, ShownAs shown_as,
                        const SourceEntry& entry);
  struct FoundEntry {
    NameMap::Found found;
    Snapshot now;
  };
  [[nodiscard]] Result<FoundEntry> find_entry(const Node& parent, const Folder& folder,
                                              const std::string& name) const;
  [[nodiscard]] Result<FoundEntry> find_entry_once(const Node& parent, const Folder& folder,
                                                   const std::string& name) const;
  template <class Lookup>
  Result<NodeEntry> between_replacements(const std::string& name, const Lookup& look_up);
  struct stat shown(const Snapshot& now, const Node& node) const;
  void tell(Node& node, const Snapshot& now) const;
  void note_kernel_size(Node& node, const Snapshot& now) const;

  // Constant after construction.
  const bool read_only_;
  const bool immutable_;
  const bool has_writeback_;
  const ArrayViews arrays_;
  // Self-synchronised.
  NodeLocator& locator_;
  const NodeFolders& folders_;
  const NameMap& names_;
  const Snapshots& snapshots_;
  WriteCore& writes_;
  ExportedNodes exported_;
  mutable InodeNumbers inodes_;
};

}  // namespace framefs::fs
