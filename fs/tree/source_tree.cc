#include "fs/tree/source_tree.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <utility>

#include "fs/core/diagnostics/error_map.h"
#include "fs/core/diagnostics/log.h"
#include "fs/core/retries.h"
#include "fs/tree/names/shown_stat.h"

namespace framefs::fs {
SourceTree::SourceTree(const MountOptions& options, const Parts& parts)
    : read_only_(options.read_only),
      immutable_(options.immutable),
      has_writeback_(options.writeback),
      arrays_(options.arrays),
      locator_(parts.locator),
      folders_(parts.folders),
      names_(parts.names),
      snapshots_(parts.snapshots),
      writes_(parts.writes),
      exported_(parts.locator),
      inodes_(parts.locator.nodes().root()->key.device) {}

Status SourceTree::check_writable(const Node& node) const {
  const bool in_container = node.key.shown_as == ShownAs::container || node.key.is_member();
  if (read_only_ || in_container) return system_error_of(EROFS, "write");
  if (!node.key.by_full_name) return {};
  auto refused = system_error_of(EPERM,
                                 "a frame cannot be changed by its full name; use the listed name, "
                                 "copy frames into SOURCE, or mount with --as-is");
  locator_.log_failure(node, refused.error());
  return refused;
}

void SourceTree::forget(NodeId id, std::uint64_t lookups) {
  auto& nodes = locator_.nodes();
  const auto file = nodes.forget(id, lookups);
  auto& table = writes_.table;
  if (file && !table.is_empty() && !nodes.knows(*file)) table.end_unreachable(*file);
}

// The log names the rule, because programs say no more than "Operation not permitted".
std::unexpected<Error> SourceTree::refuse_array_change(const Node& node) const {
  auto refused = refusal(EPERM,
                         "the header and the size of an array are fixed; mounted with --rule "
                         "'*.npy:arrays=yes', programs can replace it");
  locator_.log_failure(node, refused.error());
  return refused;
}

struct stat SourceTree::shown(const Snapshot& now, const Node& node) const {
  const auto& entry = now.entry;
  const auto& written = now.written;
  const auto shown_as = node.key.shown_as;
  writes_.clock.note(entry.stat.st_ctim);
  auto st =
      shown_stat(entry, shown_as, arrays_, inodes_.shown(entry.stat.st_dev, entry.stat.st_ino));
  if (!node.key.shows_frame() || node.key.is_member()) return st;
  if (!written) {
    st.st_ctim = writes_.ctimes.find(identity_of(entry.content_stat())).value_or(st.st_ctim);
    return st;
  }
  st.st_mtim = written->mtime;
  st.st_ctim = written->ctime;
  if (shown_as == ShownAs::frame) st.st_size = static_cast<off_t>(written->nbytes);
  return st;
}

// Call this when the kernel is told the attributes in `now`.
void SourceTree::tell(Node& node, const Snapshot& now) const {
  if (!immutable_) return;
  if (node.key.is_member()) return node.told.reset();
  node.told.set(identity_of(now.entry.content_stat()));
}

bool SourceTree::note_change(NodeId id, const Error& error) const {
  const auto node = find(id);
  if (!node || !(*node)->told.note_change()) return false;
  locator_.log_warning(**node, "has changed under --immutable: " + describe(error));
  return true;
}

// The key of a container's member is the container's key with the member's path in it.  The path
// consists of names in the container, so that it does not depend on other members.
NodeKey SourceTree::key_of(const Node& parent, const std::string& source_name, ShownAs shown_as,
                           const SourceEntry& entry) {
  if (parent.key.shown_as != ShownAs::container) {
    return {entry.stat.st_dev, entry.stat.st_ino, shown_as};
  }
  const auto directory = parent.key.member.str();
  const auto member = directory.empty() ? source_name : directory + "/" + source_name;
  if (S_ISDIR(entry.stat.st_mode)) shown_as = ShownAs::container;
  return {.device = parent.key.device,
          .inode = parent.key.inode,
          .shown_as = shown_as,
          .member = member,
          .container = container_number(parent)};
}

// See NodeTable::lookup().
std::optional<FileIdentity> SourceTree::version_of(const NodeKey& key, const SourceEntry& entry) {
  if (key.is_member()) return std::nullopt;
  if (key.shown_as == ShownAs::container) return identity_of(entry.stat);
  if (key.shown_as != ShownAs::itself || !entry.birth_ns) return std::nullopt;
  return FileIdentity{.device = key.device,
                      .inode = key.inode,
                      .size = 0,
                      .mtime_ns = 0,
                      .ctime_ns = *entry.birth_ns};
}

// With --writeback, the kernel keeps the size that it gets with the first lookup of a node.
void SourceTree::note_kernel_size(Node& node, const Snapshot& now) const {
  if (!has_writeback_ || !node.key.shows_frame() || node.key.is_member()) return;
  node.state.with([&](Node::State& state) {
    state.pages.note_size(identity_of(now.entry.content_stat()), now.written.has_value());
  });
}

NodeEntry SourceTree::enter(const std::shared_ptr<Node>& parent, const std::string& source_name,
                            ShownAs shown_as, const Snapshot& now, bool is_listed) {
  auto key = key_of(*parent, source_name, shown_as, now.entry);
  key.by_full_name = !is_listed;
  // A single entry is SOURCE itself, so it has the path of SOURCE.
  const bool is_single = parent->key.shown_as == ShownAs::single_entry;
  const auto& name = is_single ? locator_.root().path() : source_name;
  const auto node = locator_.nodes().lookup(parent, name, key, version_of(key, now.entry),
                                            now.entry.generation, now.since);
  tell(*node, now);
  note_kernel_size(*node, now);
  return {.id = node->id,
          .stat = shown(now, *node),
          .is_listed = is_listed,
          .generation = node->generation};
}

std::shared_ptr<Node> SourceTree::enter_file(const std::shared_ptr<Node>& parent,
                                             const std::string& source_name, ShownAs shown_as,
                                             const SourceEntry& entry, NodeTable::Moment since) {
  const NodeKey key{entry.stat.st_dev, entry.stat.st_ino, shown_as};
  return locator_.nodes().lookup(parent, source_name, key, std::nullopt, entry.generation, since);
}

// The entry that is shown as `name`, in its current state.
Result<SourceTree::FoundEntry> SourceTree::find_entry(const Node& parent, const Folder& folder,
                                                      const std::string& name) const {
  return locator_.beside_renames([&] { return find_entry_once(parent, folder, name); });
}

Result<SourceTree::FoundEntry> SourceTree::find_entry_once(const Node& parent, const Folder& folder,
                                                           const std::string& name) const {
  for (Retries retries;;) {
    FRAMEFS_TRY(auto found, names_.find(NegativeLookupCache(folder), name));
    if (parent.key.shown_as == ShownAs::container) {
      const Snapshot now{.entry = found.entry};  // never written
      return FoundEntry{std::move(found), now};
    }
    FRAMEFS_TRY(const auto now, snapshots_.take(file_key(found.entry),
                                                [&] { return folder.probe(found.source_name); }));
    if (can_be_shown(now.entry.summary, found.shown_as)) return FoundEntry{std::move(found), now};
    if (!retries.are_left()) return system_error_of(ESTALE, "lookup");
  }
}

// Looks up a name whose file may be replaced by an array at any time.  The node that is entered is
// then that of the file which has the name in the end.
template <class Lookup>
Result<NodeEntry> SourceTree::between_replacements(const std::string& name, const Lookup& look_up) {
  if (!name.ends_with(".npy")) return look_up();
  for (Retries retries;;) {
    const auto before = locator_.renames();
    auto entry = look_up();
    if (!entry || locator_.is_steady_since(before) || !retries.are_left()) return entry;
    forget(entry->id, 1);
    locator_.wait_for_renames();
  }
}

Result<NodeEntry> SourceTree::lookup(NodeId parent, const std::string& name) {
  FRAMEFS_TRY(const auto node, find(parent));
  FRAMEFS_TRY(const auto folder, folders_.open(*node, O_PATH));
  return between_replacements(name, [&]() -> Result<NodeEntry> {
    FRAMEFS_TRY(const auto entry, find_entry(*node, *folder, name));
    const auto& [found, now] = entry;
    return enter(node, found.source_name, found.shown_as, now, found.is_listed);
  });
}

Result<NodeEntry> SourceTree::lookup(const OpenFolder& directory, const DirectoryEntry& entry) {
  const auto& name = entry.source.name;
  const auto& node = directory.node;
  const auto probe = [&] { return directory.folder->probe(name); };
  if (node->key.shown_as == ShownAs::container) {
    FRAMEFS_TRY(auto member, probe());
    return enter(node, name, entry.shown.shown_as, {.entry = member});
  }
  return between_replacements(entry.shown.name, [&]() -> Result<NodeEntry> {
    FRAMEFS_TRY(const auto now, snapshots_.take({node->key.device, entry.source.inode}, probe));
    // The file may be shown under another name by now; the kernel finds it by looking the name up.
    if (!can_be_shown(now.entry.summary, entry.shown.shown_as)) {
      return system_error_of(ESTALE, "lookup");
    }
    return enter(node, name, entry.shown.shown_as, now);
  });
}

Result<NodeEntry> SourceTree::lookup_number(NodeId id) {
  const auto recalled = [&]() -> Result<NodeEntry> {
    FRAMEFS_TRY(const auto node, locator_.nodes().recall(id));
    return shown_by_number(node);
  };
  auto entry = recalled();
  const bool is_exported = locator_.handles() != nullptr;
  if (entry || !is_exported || !NodeLocator::is_elsewhere(entry.error())) return entry;
  FRAMEFS_TRY(const auto node, exported_.find(id));
  return shown_by_number(node);
}

// The entry of a node, of which one lookup is counted; forgets that lookup if there is none.
Result<NodeEntry> SourceTree::shown_by_number(const std::shared_ptr<Node>& node) {
  const auto now = snapshots_.of(*node);
  if (now && can_be_shown(now->entry.summary, node->key.shown_as)) {
    return NodeEntry{.id = node->id, .stat = shown(*now, *node), .generation = node->generation};
  }
  forget(node->id, 1);
  if (!now) return std::unexpected(now.error());
  return system_error_of(ESTALE, "lookup");
}

Result<NodeEntry> SourceTree::lookup_parent(NodeId id) {
  FRAMEFS_TRY(const auto node, find(id));
  return lookup_number(locator_.nodes().parent_of(*node));
}

Result<struct stat> SourceTree::stat_node(Node& node) const {
  FRAMEFS_TRY(const auto now, snapshots_.of(node));
  tell(node, now);
  return shown(now, node);
}

Result<SourceTree::AttributesAndContent> SourceTree::stat_with_content(Node& node, int fd) const {
  FRAMEFS_TRY(const auto now, snapshots_.of(node, fd));
  tell(node, now);
  const bool may_be_written = node.key.shows_frame() && !node.key.is_member();
  return AttributesAndContent{
      .stat = shown(now, node),
      .content = {identity_of(now.entry.content_stat()), may_be_written ? now.session_id : 0}};
}

Result<struct stat> SourceTree::stat_node(NodeId id) const {
  FRAMEFS_TRY(const auto node, find(id));
  return stat_node(*node);
}

Result<struct stat> SourceTree::stat_file(const OpenFile& file) const {
  FRAMEFS_TRY(const auto now, snapshots_.of(file));
  return shown(now, *file.node);
}

struct stat SourceTree::stat_new(const OpenFile& file, const SourceEntry& entry) const {
  Snapshot now{.entry = entry};
  if (const auto session = file.session.get()) now.written = session->shown();
  return shown(now, *file.node);
}

Result<std::string> SourceTree::read_link(NodeId id) const {
  FRAMEFS_TRY(const auto node, find(id));
  FRAMEFS_TRY(const auto link, locator_.open(*node, O_PATH | O_NOFOLLOW));
  std::array<char, PATH_MAX> target{};
  const auto size = ::readlinkat(link.get(), "", target.data(), target.size());
  if (size < 0) return system_error("readlink");
  return std::string(target.data(), static_cast<std::size_t>(size));
}

Status SourceTree::check_access(NodeId id, int mask) const {
  FRAMEFS_TRY(const auto node, find(id));
  if ((mask & W_OK) != 0) FRAMEFS_CHECK(check_writable(*node));
  FRAMEFS_TRY(const auto file, locator_.open(*node, O_PATH | O_NOFOLLOW));
  // A directory that is a file in SOURCE may be searched by users who may read the file.
  const bool is_container = node->key.shown_as == ShownAs::container || node->key.is_member();
  if (is_container && (mask & X_OK) != 0) mask = (mask & ~X_OK) | R_OK;
  if (::faccessat(file.get(), "", mask, AT_EMPTY_PATH | AT_EACCESS) != 0) {
    return system_error("access");
  }
  return {};
}

Result<struct statvfs> SourceTree::stat_filesystem() const {
  FRAMEFS_TRY(const auto root, locator_.open_path(locator_.root().path(), O_PATH));
  struct statvfs st{};
  if (::fstatvfs(root.get(), &st) != 0) return system_error("statfs");
  return st;
}

Result<std::unique_ptr<OpenFolder>> SourceTree::open_directory(NodeId id) const {
  FRAMEFS_TRY(auto node, find(id));
  FRAMEFS_TRY(auto folder, folders_.open(*node, O_RDONLY));
  return std::make_unique<OpenFolder>(OpenFolder{std::move(node), std::move(folder)});
}

Result<std::vector<DirectoryEntry>> SourceTree::list(const OpenFolder& directory) const {
  return locator_.between_renames([&] { return names_.list(*directory.folder); });
}

Result<std::shared_ptr<const ShownListing>> SourceTree::open_listing(
    const OpenFolder& directory) const {
  return locator_.between_renames([&] { return names_.open(*directory.folder); });
}

std::uint64_t SourceTree::shown_inode(const OpenFolder& directory, const DirectoryEntry& entry) {
  const auto number = inodes_.shown(directory.node->key.device, entry.source.inode);
  return shown_inode_of(number, entry.shown.shown_as, arrays_);
}

}  // namespace framefs::fs
