#include "fs/tree/source_tree.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <utility>

#include "fs/core/error_map.h"
#include "fs/core/log.h"
#include "fs/source/container_folder.h"
#include "fs/source/suffixes.h"
#include "fs/tree/shown_stat.h"

namespace framefs::fs {
namespace {

// The maximum number of probes for a file that other programs keep replacing during the lookup.
constexpr int kMaxRounds = 100;

}  // namespace

SourceTree::SourceTree(const MountOptions& options, Expected expected, const Parts& parts)
    : read_only_(options.read_only),
      immutable_(options.immutable),
      has_writeback_(options.writeback),
      arrays_(options.arrays),
      limits_(options.limits),
      expected_(expected),
      as_is_(parts.as_is),
      locator_(parts.locator),
      containers_(parts.containers),
      probe_(parts.probe),
      directory_names_(parts.directory_names),
      names_(parts.names),
      sessions_(parts.sessions),
      ctimes_(parts.ctimes),
      clock_(parts.clock),
      log_(parts.log),
      exported_(parts.exported),
      inodes_(parts.locator.nodes().root()->key.device) {}

Status SourceTree::check_writable(const Node& node) const {
  const bool in_container = node.key.shown_as == ShownAs::container || node.key.is_member();
  if (read_only_ || in_container) return system_error_of(EROFS, "write");
  if (!node.key.by_full_name) return {};
  auto refused = system_error_of(EPERM,
                                 "a frame cannot be changed by its full name; use the listed name, "
                                 "copy frames into SOURCE, or mount with --as-is");
  log_.failure(locator_.nodes().path_of(node), refused.error());
  return refused;
}

void SourceTree::forget(NodeId id, std::uint64_t lookups) {
  auto& nodes = locator_.nodes();
  const auto file = nodes.forget(id, lookups);
  if (file && !sessions_.is_empty() && !nodes.knows(*file)) sessions_.end_unreachable(*file);
}

// The log names the rule, because programs say no more than "Operation not permitted".
std::unexpected<Error> SourceTree::refuse_array_change(const Node& node) const {
  auto refused = refusal(EPERM,
                         "the header and the size of an array are fixed; mounted with --rule "
                         "'*.npy:arrays=yes', programs can replace it");
  log_.failure(locator_.name_for_log(node), refused.error());
  return refused;
}

// The folder of the entries that a directory shows.  With the `access` O_PATH, names can be looked
// up in it, and it cannot be listed.
Result<std::unique_ptr<Folder>> SourceTree::open_folder(Node& node, int access) const {
  if (node.key.shown_as == ShownAs::container) {
    FRAMEFS_TRY(auto opened, containers_.open(node));
    return std::make_unique<ContainerFolder>(std::move(opened), node.key.member.str(), limits_);
  }
  if (node.key.shown_as == ShownAs::single_entry) {
    FRAMEFS_TRY(auto fd, locator_.open_path(".", O_PATH | O_DIRECTORY));
    return std::make_unique<SingleEntryFolder>(std::move(fd), locator_.root().path(), expected_,
                                               probe_);
  }
  // The directory of a sparse frame is shown as a file.
  if (node.key.shown_as != ShownAs::itself) return system_error_of(ENOTDIR, "opendir");
  FRAMEFS_TRY(auto fd, locator_.open(node, access | O_DIRECTORY));
  auto folder =
      std::make_unique<DiskFolder>(std::move(fd), probe_, file_key(node), &directory_names_);
  folder->show_as_is(as_is_, locator_.nodes().path_of(node));
  return folder;
}

// The entry, and what the session of its file, if any, has for it.
SourceTree::Seen SourceTree::together(const SourceEntry& entry,
                                      const WriteSessionTable::Session& session) {
  Seen seen{.entry = entry, .written = {}};
  if (session && session->check()) seen.written = session->shown();
  return seen;
}

Result<SourceTree::Seen> SourceTree::see(FileKey guess, const Probe& probe) const {
  const auto look = [&](const WriteSessionTable::Session& session) -> Result<Seen> {
    const auto since = locator_.nodes().now();
    FRAMEFS_TRY(auto entry, probe());
    auto seen = together(entry, session);
    seen.since = since;
    return seen;
  };
  for (int round = 0; round < kMaxRounds; ++round) {
    FRAMEFS_TRY(auto seen, sessions_.observe(guess, look));
    const auto key = file_key(seen.entry);
    if (key == guess) return seen;
    guess = key;  // another file has taken the place
  }
  return system_error_of(ESTALE, "lookup");
}

// The session of a frame that is being written here knows the content of the file, which is then
// not read.  `fd` is an open descriptor of the node's file, or -1; it may be an O_PATH descriptor.
Result<SourceTree::Seen> SourceTree::see_node(Node& node, int fd) const {
  const auto look = [&](const WriteSessionTable::Session& session) -> Result<Seen> {
    if (session && session->is_removed()) {
      FRAMEFS_TRY(auto entry, probe_removed(node, *session));
      return together(entry, session);
    }
    if (session && node.key.shown_as == ShownAs::frame) {
      const FrameSummary known{.content = Content::frame, .chunksize = session->chunksize()};
      FRAMEFS_TRY(auto entry, fd < 0 ? probe_node(node, &known) : probe_written(node, fd, known));
      auto seen = together(entry, session);
      if (seen.written) return seen;
    }
    FRAMEFS_TRY(auto entry, probe_node(node));
    return together(entry, session);
  };
  if (!node.key.is_member()) return sessions_.observe(file_key(node), look);
  // Containers are never written.
  FRAMEFS_TRY(auto opened, containers_.open(node));
  FRAMEFS_TRY(auto entry, containers_.probe(std::move(opened), node.key.member.str()));
  return Seen{.entry = entry, .written = {}};
}

struct stat SourceTree::shown(const Seen& seen, const Node& node) const {
  const auto& entry = seen.entry;
  const auto& written = seen.written;
  const auto shown_as = node.key.shown_as;
  clock_.note(entry.stat.st_ctim);
  auto st =
      shown_stat(entry, shown_as, arrays_, inodes_.shown(entry.stat.st_dev, entry.stat.st_ino));
  if (!node.key.shows_frame() || node.key.is_member()) return st;
  if (!written) {
    st.st_ctim = ctimes_.find(identity_of(entry.content_stat())).value_or(st.st_ctim);
    return st;
  }
  st.st_mtim = written->mtime;
  st.st_ctim = written->ctime;
  if (shown_as == ShownAs::frame) st.st_size = static_cast<off_t>(written->nbytes);
  return st;
}

// Call this when the kernel is told the attributes in `seen`.
void SourceTree::tell(Node& node, const Seen& seen) const {
  if (!immutable_) return;
  if (node.key.is_member()) return node.told.reset();
  node.told.set(identity_of(seen.entry.content_stat()));
}

bool SourceTree::note_change(NodeId id, const Error& error) const {
  const auto node = find(id);
  if (!node || !(*node)->told.note_change()) return false;
  log_.warn(locator_.name_for_log(**node) + " has changed under --immutable: " + describe(error));
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
void SourceTree::note_kernel_size(Node& node, const Seen& seen) const {
  if (!has_writeback_ || !node.key.shows_frame() || node.key.is_member()) return;
  node.state.with([&](Node::State& state) {
    state.pages.note_size(identity_of(seen.entry.content_stat()), seen.written.has_value());
  });
}

NodeEntry SourceTree::enter(const std::shared_ptr<Node>& parent, const std::string& source_name,
                            ShownAs shown_as, const Seen& seen, bool is_listed) {
  auto key = key_of(*parent, source_name, shown_as, seen.entry);
  key.by_full_name = !is_listed;
  // A single entry is SOURCE itself, so it has the path of SOURCE.
  const bool is_single = parent->key.shown_as == ShownAs::single_entry;
  const auto& name = is_single ? locator_.root().path() : source_name;
  const auto node = locator_.nodes().lookup(parent, name, key, version_of(key, seen.entry),
                                            seen.entry.generation, seen.since);
  tell(*node, seen);
  note_kernel_size(*node, seen);
  return {.id = node->id,
          .stat = shown(seen, *node),
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
Result<SourceTree::Located> SourceTree::locate(const Node& parent, const Folder& folder,
                                               const std::string& name) const {
  return locator_.beside_renames([&] { return locate_once(parent, folder, name); });
}

Result<SourceTree::Located> SourceTree::locate_once(const Node& parent, const Folder& folder,
                                                    const std::string& name) const {
  for (int round = 0; round < kMaxRounds; ++round) {
    FRAMEFS_TRY(auto found, names_.find(NegativeLookupCache(folder), name));
    if (parent.key.shown_as == ShownAs::container) {
      Seen seen{.entry = found.entry, .written = {}};  // never written
      return Located{std::move(found), seen};
    }
    FRAMEFS_TRY(auto seen,
                see(file_key(found.entry), [&] { return folder.probe(found.source_name); }));
    if (can_be_shown(seen.entry.summary, found.shown_as)) {
      return Located{std::move(found), seen};
    }
  }
  return system_error_of(ESTALE, "lookup");
}

// Looks up a name whose file may be replaced by an array at any time.  The node that is entered is
// then that of the file which has the name in the end.
template <class Lookup>
Result<NodeEntry> SourceTree::steady(const std::string& name, const Lookup& look_up) {
  if (!name.ends_with(".npy")) return look_up();
  for (int round = 1;; ++round) {
    const auto before = locator_.renames();
    auto entry = look_up();
    if (!entry || locator_.is_steady_since(before) || round == kMaxRounds) return entry;
    forget(entry->id, 1);
    locator_.wait_for_renames();
  }
}

Result<NodeEntry> SourceTree::lookup(NodeId parent, const std::string& name) {
  FRAMEFS_TRY(const auto node, find(parent));
  FRAMEFS_TRY(const auto folder, open_folder(*node, O_PATH));
  return steady(name, [&]() -> Result<NodeEntry> {
    FRAMEFS_TRY(const auto located, locate(*node, *folder, name));
    const auto& found = located.found;
    return enter(node, found.source_name, found.shown_as, located.seen, found.is_listed);
  });
}

Result<NodeEntry> SourceTree::lookup(const OpenFolder& directory, const DirectoryEntry& entry) {
  const auto& name = entry.source.name;
  const auto& node = directory.node;
  const auto probe = [&] { return directory.folder->probe(name); };
  if (node->key.shown_as == ShownAs::container) {
    FRAMEFS_TRY(auto member, probe());
    return enter(node, name, entry.shown.shown_as, {.entry = member, .written = {}});
  }
  return steady(entry.shown.name, [&]() -> Result<NodeEntry> {
    FRAMEFS_TRY(const auto seen, see({node->key.device, entry.source.inode}, probe));
    // The file may be shown under another name by now; the kernel finds it by looking the name up.
    if (!can_be_shown(seen.entry.summary, entry.shown.shown_as)) {
      return system_error_of(ESTALE, "lookup");
    }
    return enter(node, name, entry.shown.shown_as, seen);
  });
}

Result<NodeEntry> SourceTree::lookup_number(NodeId id) {
  const auto recalled = [&]() -> Result<NodeEntry> {
    FRAMEFS_TRY(const auto node, locator_.nodes().recall(id));
    return shown_by_number(node);
  };
  auto entry = recalled();
  if (entry || exported_ == nullptr || !NodeLocator::is_elsewhere(entry.error())) return entry;
  FRAMEFS_TRY(const auto node, exported_->find(id));
  return shown_by_number(node);
}

// The entry of a node, of which one lookup is counted; forgets that lookup if there is none.
Result<NodeEntry> SourceTree::shown_by_number(const std::shared_ptr<Node>& node) {
  const auto seen = see_node(*node);
  if (seen && can_be_shown(seen->entry.summary, node->key.shown_as)) {
    return NodeEntry{.id = node->id, .stat = shown(*seen, *node), .generation = node->generation};
  }
  forget(node->id, 1);
  if (!seen) return std::unexpected(seen.error());
  return system_error_of(ESTALE, "lookup");
}

Result<NodeEntry> SourceTree::lookup_parent(NodeId id) {
  FRAMEFS_TRY(const auto node, find(id));
  return lookup_number(locator_.nodes().parent_of(*node));
}

// The content to look for at a path in SOURCE, or, if it is empty, in a file without a known name.
Expected SourceTree::expected_at(const Node& node, const std::string& path) const {
  if (path.empty()) {
    return node.key.shown_as == ShownAs::frame ? Expected::frame : Expected::array;
  }
  if (path == locator_.root().path()) return expected_;
  return as_is_.covers(path) ? Expected::nothing : expected_content(name_part(path));
}

Result<SourceEntry> SourceTree::probe_node(const Node& node, const FrameSummary* known) const {
  const int flags = node.key.has_view() ? O_RDONLY | O_NONBLOCK : O_PATH | O_NOFOLLOW;
  const auto by_path = [&](const std::string& path) { return probe_at(path, node, known); };
  const auto by_descriptor = [&](int held) -> Result<SourceEntry> {
    FRAMEFS_TRY(auto fd, reopen(held, flags));
    return probe_opened(node, std::move(fd));
  };
  auto entry = locator_.where_it_is(node, by_path, by_descriptor);
  if (entry || !NodeLocator::is_elsewhere(entry.error())) return entry;
  if (node.is_exported()) {
    FRAMEFS_TRY(auto fd, locator_.open_by_handle(node, flags));
    return probe_opened(node, std::move(fd));
  }
  const auto open = node.state.with([](const Node::State& state) { return state.handles.file(); });
  if (!open) return NodeLocator::missing(entry.error());
  // Another program has removed the file, or put another one in its place.
  FRAMEFS_TRY(auto fd, reopen(open->fd(), flags));
  return probe_opened(node, std::move(fd));
}

// The same for an open file, which is an O_PATH descriptor unless the node has a view.
Result<SourceEntry> SourceTree::probe_opened(const Node& node, UniqueFd fd) const {
  if (node.key.has_view()) {
    FRAMEFS_TRY(const auto file, BackingFile::adopt(std::move(fd)));
    return probe_file(node, file);
  }
  SourceEntry entry;
  FRAMEFS_TRY(entry.stat, probe_.stat_open(fd.get()));
  return entry;
}

Result<SourceEntry> SourceTree::probe_at(const std::string& path, const Node& node,
                                         const FrameSummary* known) const {
  const auto above = directory_part(path);
  FRAMEFS_TRY(const auto directory,
              locator_.open_path(above.empty() ? "." : above, O_PATH | O_DIRECTORY));
  FRAMEFS_TRY(const auto entry, probe_.probe_as(directory.get(), name_part(path),
                                                expected_at(node, path), known, path));
  const bool is_other = node.is_exported() && entry.generation != node.generation;
  if (is_other || !names_source(node.key, entry.stat)) return system_error_of(ESTALE, "stat");
  return entry;
}

// The same for the file of a frame whose content is known.
Result<SourceEntry> SourceTree::probe_written(const Node& node, int fd,
                                              const FrameSummary& known) const {
  FRAMEFS_TRY(auto entry, probe_.probe_known(fd, known));
  // The descriptor of a sparse frame is that of its index.
  if (!names_source(node.key, entry.stat)) return probe_node(node, &known);
  return entry;
}

// The same for the node's open backing file.
Result<SourceEntry> SourceTree::probe_file(const Node& node, const BackingFile& file) const {
  SourceEntry entry;
  const auto stat_of_source = [&](int fd) {
    return file.is_sparse() ? probe_.stat_part(fd) : probe_.stat_open(fd);
  };
  FRAMEFS_TRY(entry.stat, stat_of_source(file.fd()));
  if (!node.key.has_view()) return entry;
  FRAMEFS_TRY(const auto content, file.open_content());
  FRAMEFS_TRY(const auto st, stat_of_source(content->fd()));
  if (file.is_sparse()) entry.index_stat = st;
  entry.summary =
      probe_.probe_open(*content, st, expected_at(node, locator_.nodes().path_of(node)));
  return entry;
}

// The same for a sparse frame whose files were removed: its session has their attributes.
Result<SourceEntry> SourceTree::probe_removed(const Node& node,
                                              const FrameWriteSession& session) const {
  SourceEntry entry;
  FRAMEFS_TRY(entry.stat, probe_.stat_part(session.sync_fd()));
  FRAMEFS_TRY(auto index, reopen(session.content_fd(), O_RDONLY));
  FRAMEFS_TRY(entry.index_stat, probe_.stat_part(index.get()));
  entry.summary = probe_.probe_open(FileReader(std::move(index)), *entry.index_stat,
                                    expected_at(node, locator_.nodes().path_of(node)));
  return entry;
}

Result<struct stat> SourceTree::stat_node(Node& node, int fd) const {
  FRAMEFS_TRY(const auto seen, see_node(node, fd));
  tell(node, seen);
  return shown(seen, node);
}

Result<struct stat> SourceTree::stat_node(NodeId id) const {
  FRAMEFS_TRY(const auto node, find(id));
  return stat_node(*node);
}

Result<struct stat> SourceTree::stat_file(const OpenFile& file) const {
  auto& node = *file.node;
  if (node.key.is_member()) {
    FRAMEFS_TRY(auto container, containers_.read(node, file.source));
    FRAMEFS_TRY(auto member, containers_.probe(std::move(container), node.key.member.str()));
    return shown({.entry = member, .written = {}}, node);
  }
  const auto probe = [&] {
    const auto session = sessions_.find(file_key(node));
    const bool is_removed = session && session->is_removed();
    return is_removed ? probe_removed(node, *session) : probe_file(node, file.source);
  };
  FRAMEFS_TRY(const auto seen, see(file_key(node), probe));
  return shown(seen, node);
}

struct stat SourceTree::stat_new(const OpenFile& file, const SourceEntry& entry) const {
  Seen seen{.entry = entry, .written = {}};
  if (const auto session = file.session.get()) seen.written = session->shown();
  return shown(seen, *file.node);
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
  FRAMEFS_TRY(auto folder, open_folder(*node, O_RDONLY));
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
