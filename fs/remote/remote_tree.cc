#include "fs/remote/remote_tree.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <string_view>
#include <utility>

#include "fs/core/error_map.h"
#include "fs/net/remote_file.h"
#include "fs/source/chunk_files.h"
#include "fs/source/suffixes.h"
#include "fs/tree/node_views.h"
#include "fs/tree/shown_stat.h"

namespace framefs::fs {
namespace {

constexpr std::string_view kCountersAttribute = "user.framefs.remote";

// The version as the identity of a state, by which nodes tell versions apart.
FileIdentity identity_of(const net::ObjectVersion& version) {
  return {.device = version.key.high,
          .inode = version.key.low,
          .size = static_cast<std::int64_t>(version.size),
          .mtime_ns = 0,
          .ctime_ns = 0};
}

bool is_array(ShownAs shown_as) { return shown_as == ShownAs::array || shown_as == ShownAs::npy; }

// The attributes to show.  Programs read through a buffer of st_blksize bytes.  A buffer for the
// header of an array must not need blocks of many rows.
struct stat stat_of_remote(const SourceEntry& entry, ShownAs shown_as, ArrayViews arrays) {
  constexpr blksize_t kArrayBuffer = 4096;
  auto st = shown_stat(entry, shown_as, arrays, entry.stat.st_ino);
  if (is_array(shown_as)) st.st_blksize = kArrayBuffer;
  return st;
}

// The bytes of an array are stored in another order than they are shown in.
net::FetchAhead ahead_for(ShownAs shown_as) {
  return is_array(shown_as) ? net::FetchAhead::as_expected : net::FetchAhead::in_stored_order;
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
      nodes_(root_.key, ""),
      stop_(*store_),
      ahead_(options.threads, options.cache_bytes) {}

// A SOURCE that is one object is the root of its store.
std::string RemoteTree::path_of(const Node& node) const {
  return root_.is_single() ? "" : nodes_.path_of(node);
}

std::string RemoteTree::name_for_log(const Node& node) const {
  auto name = store_->name_of(path_of(node));
  if (node.key.is_member()) name += "/" + node.key.member.str();
  return name;
}

void RemoteTree::note_failure(const Node& node, const Error& error) const {
  constexpr std::array kOrdinary = {ENOENT, ENOTDIR, ESTALE, EINTR};
  const bool is_ordinary = error.kind == codec::Errc::system &&
                           std::ranges::find(kOrdinary, error.sys) != kOrdinary.end();
  if (!is_ordinary) log_.failure(name_for_log(node), error);
}

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
  const auto node = nodes_.lookup(parent, name, key);
  node->told.reset_if_wrong();
  return {node->id, stat_of_remote(entry, key.shown_as, options_.arrays)};
}

Result<OpenContainer> RemoteTree::open_container(Node& node) {
  const auto above = node.key.is_member() ? nodes_.container_of(node) : nullptr;
  Node& host = above ? *above : node;
  const auto path = path_of(host);
  FRAMEFS_TRY(const auto opened, logged(host, store_->objects().open(path)));
  OpenContainer container;
  container.file = store_->bytes_of(opened, ahead_for(node.key.shown_as));
  container.stat = RemoteDirectories::stat_of(path, entry_of(opened));
  const auto version = identity_of(opened.object->version());
  const CacheKey key{.content = host.content_id(version, reads_.content_ids),
                     .kind = CacheKind::container};
  FRAMEFS_TRY(container.container, reads_.cache.get<Container>(key, [&] {
    return Container::open(container.file, name_for_log(host), options_.limits, log_);
  }));
  return container;
}

Result<std::unique_ptr<Folder>> RemoteTree::open_folder(Node& node) {
  if (node.key.shown_as == ShownAs::container) {
    FRAMEFS_TRY(auto opened, open_container(node));
    return std::make_unique<ContainerFolder>(std::move(opened), node.key.member.str(),
                                             options_.limits);
  }
  if (node.key.shown_as == ShownAs::single_entry) {
    FRAMEFS_TRY(auto listing, directories_.listings().list_single(root_.single_name));
    return std::make_unique<RemoteSingleFolder>(directories_, std::move(listing), root_.expected);
  }
  // The directory of a sparse frame is shown as a file.
  if (node.key.shown_as != ShownAs::itself) return system_error_of(ENOTDIR, "opendir");
  const auto path = path_of(node);
  FRAMEFS_TRY(auto listing, logged(node, directories_.listings().open(path)));
  return std::make_unique<RemoteFolder>(directories_, std::move(listing), path);
}

Result<std::unique_ptr<Folder>> RemoteTree::open_names(Node& node) {
  if (node.key.shown_as != ShownAs::itself) return open_folder(node);
  return std::make_unique<RemoteNamesFolder>(directories_, path_of(node));
}

Result<SourceEntry> RemoteTree::probe_node(Node& node) {
  if (node.key.is_member()) {
    FRAMEFS_TRY(auto opened, open_container(node));
    const ContainerFolder folder(std::move(opened), directory_part(node.key.member.str()),
                                 options_.limits);
    return folder.probe(name_part(node.key.member.str()));
  }
  if (root_.is_single()) {
    FRAMEFS_TRY(auto listing, directories_.listings().list_single(root_.single_name));
    return directories_.probe(*listing, root_.single_name, "", root_.expected);
  }
  const auto path = path_of(node);
  if (path.empty()) {
    SourceEntry entry;
    entry.stat = RemoteDirectories::stat_of("", {.name = {}, .is_directory = true, .etag = {}});
    return entry;
  }
  const auto name = name_part(path);
  FRAMEFS_TRY(const auto listing, directories_.listings().list_for(directory_part(path), {name}));
  FRAMEFS_TRY(auto entry, directories_.probe(*listing, name, path, expected_content(name)));
  // An object in the place of a directory, or the reverse, is another node.
  if (entry.stat.st_ino != node.key.inode) return system_error_of(ESTALE, "stat");
  return entry;
}

Result<NodeEntry> RemoteTree::lookup(NodeId parent, const std::string& name) {
  FRAMEFS_TRY(const auto node, nodes_.find(parent));
  FRAMEFS_TRY(const auto folder, open_names(*node));
  FRAMEFS_TRY(const auto found, logged(*node, names_.find(*folder, name)));
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
  FRAMEFS_TRY(const auto node, nodes_.recall(id));
  const auto st = stat_node(id);
  if (st) return NodeEntry{id, *st};
  forget(id, 1);
  return std::unexpected(st.error());
}

Result<NodeEntry> RemoteTree::lookup_parent(NodeId id) {
  FRAMEFS_TRY(const auto node, nodes_.find(id));
  return lookup_number(nodes_.parent_of(*node));
}

Result<struct stat> RemoteTree::stat_node(NodeId id) {
  FRAMEFS_TRY(const auto node, nodes_.find(id));
  FRAMEFS_TRY(const auto entry, probe_node(*node));
  return stat_of_remote(entry, node->key.shown_as, options_.arrays);
}

Result<std::unique_ptr<OpenFolder>> RemoteTree::open_directory(NodeId id) {
  FRAMEFS_TRY(auto node, nodes_.find(id));
  FRAMEFS_TRY(auto folder, open_folder(*node));
  return std::make_unique<OpenFolder>(OpenFolder{std::move(node), std::move(folder)});
}

std::uint64_t RemoteTree::shown_inode(const OpenFolder&, const DirectoryEntry& entry) const {
  return shown_inode_of(entry.source.inode, entry.shown.shown_as, options_.arrays);
}

Result<RemoteTree::Origin> RemoteTree::open_member(Node& node) {
  FRAMEFS_TRY(const auto opened, open_container(node));
  FRAMEFS_TRY(auto member, opened.container->open_member(opened.file, node.key.member.str()));
  Origin origin;
  if (const auto* const file = dynamic_cast<const net::RemoteFile*>(opened.file.get())) {
    origin.version = identity_of(file->version());
  }
  origin.frame = contiguous_origin(std::move(member), name_for_log(node));
  return origin;
}

Result<std::shared_ptr<const codec::ByteSource>> RemoteTree::open_chunk_file(
    const std::string& directory, std::uint32_t id, net::FetchAhead ahead) const {
  const auto opened = store_->objects().open(directory + "/" + ChunkFiles::name_of(id));
  if (!opened && opened.error().sys == ENOENT) return ChunkFiles::damaged(id);
  if (!opened) return std::unexpected(opened.error());
  return store_->bytes_of(*opened, ahead);
}

Result<RemoteTree::Origin> RemoteTree::open_origin(Node& node) {
  if (node.key.is_member()) return open_member(node);
  FRAMEFS_TRY(const auto entry, probe_node(node));
  const auto shown_as = node.key.shown_as;
  if (!node.key.has_view() && (shown_as != ShownAs::itself || !S_ISREG(entry.stat.st_mode))) {
    return system_error_of(EISDIR, "open");
  }
  const auto path = path_of(node);
  const bool is_sparse = entry.index_stat.has_value();
  const auto object = is_sparse ? net::join_path(path, kSparseIndexName) : path;
  FRAMEFS_TRY(
      const auto opened,
      logged(node, store_->open_frame(object, is_sparse ? std::nullopt : directories_.head(path))));
  Origin origin;
  origin.version = identity_of(opened.object->version());
  const auto& listed = entry.content_stat();
  const auto found = RemoteDirectories::stat_of(object, entry_of(opened));
  // The answer for an empty object may have no time.
  const bool has_time = opened.mtime_ns != 0;
  const bool is_listed = listed.st_size == found.st_size &&
                         (!has_time || listed.st_mtim.tv_sec == found.st_mtim.tv_sec);
  if (!is_listed) directories_.listings().forget(directory_part(path));
  const bool is_other = directories_.notice_version(path, opened.object->version());
  origin.is_newer = !is_listed || is_other;
  auto bytes = store_->bytes_of(opened, ahead_for(shown_as));
  if (!is_sparse) {
    origin.frame = contiguous_origin(std::move(bytes), name_for_log(node));
    return origin;
  }
  origin.frame = {
      .type = codec::FrameType::sparse,
      .source = std::move(bytes),
      .chunks = ChunkFiles::far([this, path, ahead = ahead_for(shown_as)](std::uint32_t id) {
        return open_chunk_file(path, id, ahead);
      }),
      .name = name_for_log(node)};
  return origin;
}

Result<OpenedFrame> RemoteTree::open_frame(Node& node) {
  FRAMEFS_TRY(auto origin, open_origin(node));
  FRAMEFS_TRY(auto frame, open_frame_at(origin.frame, options_.limits));
  return OpenedFrame{std::move(origin.frame), std::move(frame)};
}

Result<FoundSource> RemoteTree::open_source(NodeId id) {
  FRAMEFS_TRY(const auto node, nodes_.find(id));
  FRAMEFS_TRY(const auto entry, probe_node(*node));
  if (node->key.shown_as == ShownAs::container) {
    FRAMEFS_TRY(auto container, open_container(*node));
    return FoundSource{entry, ContainerDirectory{std::move(container), node->key.member.str()}};
  }
  FRAMEFS_TRY(auto origin, open_origin(*node));
  return FoundSource{entry, std::move(origin.frame)};
}

Result<std::vector<std::string>> RemoteTree::xattr_names(NodeId id) {
  FRAMEFS_TRY(const auto node, nodes_.find(id));
  std::vector<std::string> names;
  if (!node->key.shows_frame()) return names;
  const auto opened = open_frame(*node);
  if (!opened) return names;
  if (options_.list_info) names = frame_attribute_names(opened->frame);
  std::ranges::move(vlmeta_attribute_names(opened->frame), std::back_inserter(names));
  return names;
}

Result<std::vector<char>> RemoteTree::xattr(NodeId id, const std::string& name) {
  FRAMEFS_TRY(const auto node, nodes_.find(id));
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
  FRAMEFS_TRY(const auto node, nodes_.find(id));
  FRAMEFS_TRY(auto origin, open_origin(*node));
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
  const auto node = nodes_.find(id);
  if (!node || !(*node)->told.note_change()) return false;
  log_.warn(name_for_log(**node) + " has changed under --immutable: " + describe(error));
  return true;
}

Result<ReadResult> RemoteTree::read(const RemoteOpenFile& file, std::uint64_t offset,
                                    std::uint64_t size) {
  const auto access = file.pattern->note(offset, size);
  if (is_array(file.node->key.shown_as)) {
    const ByteRange now{offset, size};
    file.view->expect(now, file.next->with([&](NextReads& next) { return next.note(now); }));
  }
  auto result = file.view->read(offset, size, access);
  if (result) ahead_.follow(file.pattern, file.view);
  return result;
}

}  // namespace framefs::fs
