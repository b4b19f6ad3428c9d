#include "fs/remote/remote_tree.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string_view>
#include <utility>

#include "fs/core/diagnostics/error_map.h"
#include "fs/tree/content/node_views.h"
#include "fs/tree/names/shown_stat.h"

namespace framefs::fs {
namespace {

constexpr std::string_view kCountersAttribute = "user.framefs.remote";

// The attributes to show.  Programs read through a buffer of st_blksize bytes.  A buffer for the
// header of an array must not need blocks of many rows.
struct stat stat_of_remote(const SourceEntry& entry, ShownAs shown_as, ArrayViews arrays) {
  constexpr blksize_t kArrayBuffer = 4096;
  auto st = shown_stat(entry, shown_as, arrays, entry.stat.st_ino);
  if (is_array(shown_as)) st.st_blksize = kArrayBuffer;
  return st;
}

NodeKey key_of(const SourceEntry& entry, ShownAs shown_as) {
  return {entry.stat.st_dev, entry.stat.st_ino, shown_as, {}};
}

}  // namespace

Result<std::unique_ptr<RemoteTree>> RemoteTree::open(const MountOptions& options,
                                                     std::unique_ptr<RemoteStore> store, Log& log) {
  store->start();
  FRAMEFS_TRY(auto root, find_remote_root(options, *store, log));
  return std::unique_ptr<RemoteTree>(
      new RemoteTree(options, log, std::move(store), std::move(root)));
}

RemoteTree::RemoteTree(const MountOptions& options, Log& log, std::unique_ptr<RemoteStore> store,
                       RemoteRoot root)
    : options_(options),
      root_(std::move(root)),
      log_(log),
      store_(std::move(store)),
      directories_(*store_, options, log),
      reads_(options, log),
      names_(reads_.workers, options.keep_suffix, options.arrays),
      locator_(root_, *store_, directories_, reads_),
      stop_(*store_),
      ahead_(options.threads, options.cache_bytes) {}

NodeEntry RemoteTree::enter(const std::shared_ptr<Node>& parent, const std::string& name,
                            ShownAs shown_as, const SourceEntry& entry) {
  auto key = key_of(entry, shown_as);
  if (parent->key.shown_as == ShownAs::container) {
    if (S_ISDIR(entry.stat.st_mode)) key.shown_as = ShownAs::container;
    key.device = parent->key.device;
    key.inode = parent->key.inode;
    key.member = net::join_path(parent->key.member.str(), name);
    key.container = container_number(*parent);
  }
  const auto node = locator_.nodes().lookup(parent, name, key);
  node->told.reset_if_wrong();
  return {node->id, stat_of_remote(entry, key.shown_as, options_.arrays)};
}

Result<std::unique_ptr<Folder>> RemoteTree::open_folder(Node& node) {
  if (node.key.shown_as == ShownAs::container) {
    FRAMEFS_TRY(auto opened, locator_.open_container(node));
    return std::make_unique<ContainerFolder>(std::move(opened), node.key.member.str(),
                                             options_.limits);
  }
  if (node.key.shown_as == ShownAs::single_entry) {
    FRAMEFS_TRY(auto listing, directories_.listings().list_single(root_.single_name));
    return std::make_unique<RemoteSingleFolder>(directories_, std::move(listing), root_.expected);
  }
  // The directory of a sparse frame is shown as a file.
  if (node.key.shown_as != ShownAs::itself) return system_error_of(ENOTDIR, "opendir");
  const auto path = locator_.path_of(node);
  FRAMEFS_TRY(auto listing, locator_.logged(node, directories_.listings().open(path)));
  return std::make_unique<RemoteFolder>(directories_, std::move(listing), path);
}

Result<std::unique_ptr<Folder>> RemoteTree::open_names(Node& node) {
  if (node.key.shown_as != ShownAs::itself) return open_folder(node);
  return std::make_unique<RemoteNamesFolder>(directories_, locator_.path_of(node));
}

Result<NodeEntry> RemoteTree::lookup(NodeId parent, const std::string& name) {
  FRAMEFS_TRY(const auto node, locator_.nodes().find(parent));
  FRAMEFS_TRY(const auto folder, open_names(*node));
  FRAMEFS_TRY(const auto found, locator_.logged(*node, names_.find(*folder, name)));
  auto entry = enter(node, found.source_name, found.shown_as, found.entry);
  entry.is_listed = found.is_listed;
  return entry;
}

Result<NodeEntry> RemoteTree::lookup(const OpenFolder& directory, const DirectoryEntry& entry) {
  const auto& name = entry.source.name;
  FRAMEFS_TRY(const auto probed, directory.folder->probe(name));
  return enter(directory.node, name, entry.shown.shown_as, probed);
}

Result<NodeEntry> RemoteTree::lookup_number(NodeId id) {
  FRAMEFS_TRY(const auto node, locator_.nodes().recall(id));
  const auto st = stat_node(id);
  if (st) return NodeEntry{id, *st};
  forget(id, 1);
  return std::unexpected(st.error());
}

Result<NodeEntry> RemoteTree::lookup_parent(NodeId id) {
  FRAMEFS_TRY(const auto node, locator_.nodes().find(id));
  return lookup_number(locator_.nodes().parent_of(*node));
}

Result<struct stat> RemoteTree::stat_node(NodeId id) {
  FRAMEFS_TRY(const auto node, locator_.nodes().find(id));
  FRAMEFS_TRY(const auto entry, locator_.probe(*node));
  return stat_of_remote(entry, node->key.shown_as, options_.arrays);
}

Result<std::unique_ptr<OpenFolder>> RemoteTree::open_directory(NodeId id) {
  FRAMEFS_TRY(auto node, locator_.nodes().find(id));
  FRAMEFS_TRY(auto folder, open_folder(*node));
  return std::make_unique<OpenFolder>(OpenFolder{std::move(node), std::move(folder)});
}

std::uint64_t RemoteTree::shown_inode(const OpenFolder&, const DirectoryEntry& entry) const {
  return shown_inode_of(entry.source.inode, entry.shown.shown_as, options_.arrays);
}

Result<OpenedFrame> RemoteTree::open_frame(Node& node) {
  FRAMEFS_TRY(auto origin, locator_.open(node));
  FRAMEFS_TRY(auto frame, open_frame_at(origin.frame, options_.limits));
  return OpenedFrame{std::move(origin.frame), std::move(frame)};
}

Result<FoundSource> RemoteTree::open_source(NodeId id) {
  FRAMEFS_TRY(const auto node, locator_.nodes().find(id));
  FRAMEFS_TRY(const auto entry, locator_.probe(*node));
  if (node->key.shown_as == ShownAs::container) {
    FRAMEFS_TRY(auto container, locator_.open_container(*node));
    return FoundSource{entry, ContainerDirectory{std::move(container), node->key.member.str()}};
  }
  FRAMEFS_TRY(auto origin, locator_.open(*node));
  return FoundSource{entry, std::move(origin.frame)};
}

Result<std::vector<std::string>> RemoteTree::xattr_names(NodeId id) {
  FRAMEFS_TRY(const auto node, locator_.nodes().find(id));
  std::vector<std::string> names;
  if (!node->key.shows_frame()) return names;
  const auto opened = open_frame(*node);
  if (!opened) return names;
  if (options_.list_info) names = frame_attribute_names(opened->frame);
  std::ranges::move(vlmeta_attribute_names(opened->frame), std::back_inserter(names));
  return names;
}

Result<std::vector<char>> RemoteTree::xattr(NodeId id, const std::string& name) {
  FRAMEFS_TRY(const auto node, locator_.nodes().find(id));
  if (!is_shown_attribute(name)) return system_error_of(EOPNOTSUPP, "getxattr");
  if (node->id == kRootNode && name == kCountersAttribute) {
    const auto text = network_counters();
    return std::vector<char>(text.begin(), text.end());
  }
  if (!node->key.shows_frame() || !name.starts_with(kOwnAttributes)) {
    return system_error_of(ENODATA, "getxattr");
  }
  FRAMEFS_TRY(const auto opened, open_frame(*node));
  return frame_attribute(opened, name, options_.limits);
}

Activity RemoteTree::activity() {
  return {.cache = reads_.cache.counts(),
          .cache_held_bytes = reads_.cache.held_bytes(),
          .ahead = ahead_.counts(),
          .writes = {}};
}

Result<RemoteTree::Opened> RemoteTree::open_file(NodeId id, int flags) {
  if ((flags & O_ACCMODE) != O_RDONLY) return system_error_of(EROFS, "open");
  FRAMEFS_TRY(const auto node, locator_.nodes().find(id));
  FRAMEFS_TRY(auto origin, locator_.open(*node));
  const auto content = node->content_id(origin.version, reads_.content_ids);
  auto made =
      node->state.with([&](const Node::State& state) { return state.content.view_of(content); });
  if (!made) {
    made = make_view(node->key.shown_as, std::move(origin.frame), content,
                     reads_.services(options_.verify_checksums), options_.cache_bytes);
  }
  // The first version that was used is pinned.
  if (options_.immutable && !node->told.is(origin.version)) {
    return system_error_of(ESTALE, "another version");
  }
  Opened opened;
  const auto view = node->state.with([&](Node::State& state) {
    const bool is_known = state.pages.are_of(origin.version);
    // The kernel's pages belong to the file, and open handles of another version read them too.
    opened.bypass_pages = !is_known && state.handles.count() > 0;
    // Pages of an earlier version go when the kernel receives the reply to the open that found the
    // new one.  Replies overtake each other, so every open that reads pages drops them.
    opened.keep_pages = opened.bypass_pages;
    if (!opened.bypass_pages) state.pages.open({.identity = origin.version});
    static_cast<void>(state.handles.add(false));  // no node of a URL is retired
    return state.content.keep(content, made);
  });
  opened.is_newer = origin.is_newer;
  opened.bypass_pages = opened.bypass_pages || !view->is_readable();
  opened.file = std::make_shared<const RemoteOpenFile>(
      RemoteOpenFile{node, view, ahead_.new_pattern(),
                     std::make_shared<Guarded<NextReads>>(std::in_place, view->grid())});
  return opened;
}

void RemoteTree::close(const RemoteOpenFile& file) {
  const auto dropped = file.node->state.with([](Node::State& state) -> ShownContent::Dropped {
    return state.handles.remove(false, false) ? state.content.release() : nullptr;
  });
}

Result<std::shared_ptr<const RemoteOpenFile>> RemoteTree::open_reader(NodeId id) {
  FRAMEFS_TRY(const auto opened, open_file(id, O_RDONLY));
  const auto end = [this, file = opened.file](const RemoteOpenFile*) { close(*file); };
  return std::shared_ptr<const RemoteOpenFile>(opened.file.get(), end);
}

bool RemoteTree::note_change(NodeId id, const Error& error) const {
  const auto node = locator_.nodes().find(id);
  if (!node || !(*node)->told.note_change()) return false;
  log_.warn(locator_.name_for_log(**node) + " has changed under --immutable: " + describe(error));
  return true;
}

Result<ReadResult> RemoteTree::read(const RemoteOpenFile& file, std::uint64_t offset,
                                    std::uint64_t size) {
  const auto access = file.pattern->note(offset, size);
  // Of other files, the stored bytes show how a reader goes on, but those of the first read may be
  // too few to show it.
  if (is_array(file.node->key.shown_as) || offset == 0) {
    const ByteRange now{offset, size};
    file.view->expect(now, file.next->with([&](NextReads& next) { return next.note(now); }));
  }
  auto result = file.view->read(offset, size, access);
  if (result) ahead_.follow(file.pattern, file.view);
  return result;
}

}  // namespace framefs::fs
