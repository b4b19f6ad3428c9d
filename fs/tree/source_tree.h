#pragma once

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/core/mount_options.h"
#include "fs/tree/inode_numbers.h"
#include "fs/tree/name_map.h"
#include "fs/tree/node_locator.h"
#include "fs/tree/open_containers.h"
#include "fs/tree/open_file.h"
#include "fs/write/write_session_table.h"

namespace framefs::fs {

// A node and its attributes, as the answer to a lookup.
struct NodeEntry {
  NodeId id = 0;
  struct stat stat{};
};

// The shown tree for those who look at it: names, attributes, directories.
//
// Every size, time and state that is answered is made by see().  It looks for the file's write
// session first, then at SOURCE, then takes what the session has, and does so again where a session
// of the file has begun or ended meanwhile.  An entry that was probed earlier serves to find names
// only.
//
// Errors of all members: system, as the call on SOURCE failed; ESTALE for a node that is nowhere.
// Threads: any number.
class SourceTree {
 public:
  // Lifetime: all that is referred to outlives the tree.
  struct Parts {
    NodeLocator& locator;
    const OpenContainers& containers;
    SourceProbe& probe;
    const NameMap& names;
    const WriteSessionTable& sessions;
  };
  // `expected` is what a SOURCE of one entry is taken for.
  SourceTree(const MountOptions& options, Expected expected, const Parts& parts);

  // Whether nothing can be changed: so asked for, or SOURCE allows no changes.
  [[nodiscard]] bool is_read_only() const noexcept { return read_only_; }
  // Errors: EROFS; what is in a container is never writable.
  [[nodiscard]] Status check_writable(const Node& node) const;

  // Each counts one lookup of the node found.
  Result<NodeEntry> lookup(NodeId parent, const std::string& name);
  Result<NodeEntry> lookup(const OpenFolder& directory, const DirectoryEntry& entry);
  void forget(NodeId id, std::uint64_t lookups) { locator_.nodes().forget(id, lookups); }
  [[nodiscard]] Result<std::shared_ptr<Node>> find(NodeId id) const {
    return locator_.nodes().find(id);
  }

  Result<struct stat> stat_node(NodeId id) const;
  Result<struct stat> stat_node(Node& node) const;
  Result<struct stat> stat_file(const OpenFile& file) const;
  Result<std::string> read_link(NodeId id) const;
  Status check_access(NodeId id, int mask) const;
  Result<struct statvfs> stat_filesystem() const;

  Result<std::unique_ptr<OpenFolder>> open_directory(NodeId id) const;
  // Names and identities; sizes and times come with lookup().
  Result<std::vector<DirectoryEntry>> list(const OpenFolder& directory) const;
  // The inode number to show for an entry whose attributes nobody asked for.
  std::uint64_t shown_inode(const OpenFolder& directory, const DirectoryEntry& entry);

  // An entry of SOURCE and, where it is being written, what its session has: both of one moment.
  struct Seen {
    SourceEntry entry;
    std::optional<FrameWriteSession::Shown> written;
  };
  // `probe` looks at SOURCE; `guess` is the file that it is likely to find.
  using Probe = std::function<Result<SourceEntry>()>;
  Result<Seen> see(FileKey guess, const Probe& probe) const;
  // The node that `seen` is, entered below `parent`.  Counts one lookup.
  NodeEntry enter(const std::shared_ptr<Node>& parent, const std::string& source_name,
                  ShownAs shown_as, const Seen& seen);

 private:
  [[nodiscard]] Expected expected_at(const std::string& path) const;
  static NodeKey key_of(const Node& parent, const std::string& source_name, ShownAs shown_as,
                        const SourceEntry& entry);
  struct Located {
    NameMap::Found found;
    Seen seen;
  };
  Result<Located> locate(const Node& parent, const Folder& folder, const std::string& name) const;
  Result<std::unique_ptr<Folder>> open_folder(Node& node) const;
  Result<Seen> see_node(Node& node) const;
  Result<SourceEntry> probe_node(const Node& node) const;
  Result<SourceEntry> probe_place(const Node& node) const;
  Result<SourceEntry> probe_file(const Node& node, const BackingFile& file) const;
  struct stat shown(const Seen& seen, ShownAs shown_as) const;

  // Constant after construction.
  const bool read_only_;
  const ArrayViews arrays_;
  const codec::Limits limits_;
  const Expected expected_;
  // Self-synchronised.
  NodeLocator& locator_;
  const OpenContainers& containers_;
  SourceProbe& probe_;
  const NameMap& names_;
  const WriteSessionTable& sessions_;
  mutable InodeNumbers inodes_;
};

}  // namespace framefs::fs
