// The part of the filesystem that opens and reads files.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "fs/core/file_sink.h"
#include "fs/tree/filesystem.h"
#include "fs/view/array_view.h"
#include "fs/view/frame_view.h"
#include "fs/view/window_view.h"

namespace framefs::fs {
namespace {

Result<std::uint64_t> seek_file(int fd, Seek what, std::uint64_t offset) {
  // The position that this moves is nobody's: files are read by offset.
  const auto found =
      ::lseek(fd, static_cast<off_t>(offset), what == Seek::data ? SEEK_DATA : SEEK_HOLE);
  if (found < 0) return system_error("lseek");
  return static_cast<std::uint64_t>(found);
}

}  // namespace

ReadServices Filesystem::services() { return {options_.limits, buffers_, cache_, blocks_, log_}; }

std::string Filesystem::name_for_log(const Node& node) const {
  std::string name = source_name_;
  // Of a mount that shows one entry, SOURCE is the path of that.
  if (root_.path() == ".") name += "/" + nodes_.path_of(node);
  if (node.key.is_member()) name += "/" + node.key.member;
  return name;
}

Result<BackingFile> Filesystem::open_source(const Node& node, int access) const {
  // What is in a container is read through the container's file; O_RDONLY will do for the directory of a
  // sparse frame as well.
  const auto store = node.key.is_member() ? nodes_.container_of(node) : nullptr;
  FRAMEFS_TRY(auto fd, open_node(store ? *store : node, access | O_NOFOLLOW | O_NONBLOCK));
  return BackingFile::adopt(std::move(fd));
}

Result<Filesystem::Opened> Filesystem::open_file(NodeId id, int flags) {
  FRAMEFS_TRY(auto node, nodes_.find(id));
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (writes) FRAMEFS_CHECK(check_writable(*node));
  FRAMEFS_TRY(auto source, writes ? open_for_writing(*node, flags) : open_source(*node));
  return open_as(std::move(node), std::move(source), flags, nullptr);
}

Result<Filesystem::Opened> Filesystem::open_as(std::shared_ptr<Node> node, BackingFile source,
                                               int flags, const NewFile* new_file) {
  Opened opened;
  opened.file =
      std::make_unique<OpenFile>(std::move(node), std::move(source), ahead_.new_pattern());
  auto& file = *opened.file;
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (writes && file.node->key.has_view()) {
    FRAMEFS_TRY(auto joined, join_session(*file.node, file.source, new_file));
    file.session.set(std::move(joined));
  }
  const auto now = content_now(file);
  if (!now) {
    leave_session(file);
    return std::unexpected(now.error());
  }
  opened.keep_pages = file.node->state.with([&](Node::State& state) {
    ++state.open_handles;
    const bool is_known = std::exchange(state.kernel_pages, now->identity) == now->identity;
    // A file that is being written changes by what the kernel itself has handed over.
    const bool is_same_session =
        std::exchange(state.kernel_pages_of, now->session_id) == now->session_id;
    return is_known || (now->session_id != 0 && is_same_session);
  });
  if (now->session_id != 0) {
    // What is written by way of one view of an array is not in the pages of the other.
    opened.bypass_pages =
        options_.arrays == ArrayViews::both && file.node->key.shown_as != ShownAs::frame;
    return opened;
  }
  if (!file.node->key.has_view()) {
    if (file.source.file()) return opened;
    close_file(file);
    return system_error_of(EISDIR, "open");
  }
  const auto view = current_view(file);
  if (!view) {
    close_file(file);
    return std::unexpected(view.error());
  }
  opened.bypass_pages = !(*view)->is_readable();
  return opened;
}

Result<Filesystem::ContentNow> Filesystem::content_now(const OpenFile& file) const {
  const auto& node = *file.node;
  return sessions_.observe(file_key(node), [&](const auto& session) -> Result<ContentNow> {
    FRAMEFS_TRY(const auto st, file.source.content_stat());
    const bool is_written =
        session && node.key.shows_frame() && !node.key.is_member() && session->check();
    return ContentNow{identity_of(st), is_written ? session->id() : 0};
  });
}

void Filesystem::close_file(const OpenFile& file) {
  // The view goes with the last handle, and its descriptor with it; what the cache holds stays
  // good.
  std::shared_ptr<const View> dropped;
  file.node->state.with([&](Node::State& state) {
    if (--state.open_handles == 0) dropped = std::move(state.view);
  });
  leave_session(file);
}

Result<struct stat> Filesystem::stat_file(const OpenFile& file) {
  const auto& key = file.node->key;
  if (key.is_member()) {
    FRAMEFS_TRY(auto store, read_container(*file.node, file.source));
    FRAMEFS_TRY(auto member, probe_member(std::move(store), key.member));
    return shown({.entry = std::move(member), .written = {}}, key.shown_as);
  }
  FRAMEFS_TRY(const auto seen,
              see(file_key(*file.node), [&] { return probe_source(*file.node, file.source); }));
  return shown(seen, key.shown_as);
}

ContentId Filesystem::content_id(Node& node, const FileIdentity& identity) {
  // Views of a state that is over go with their last reader.
  std::shared_ptr<const View> dropped;
  return node.state.with([&](Node::State& state) {
    if (!state.content_id || state.identity != identity) {
      state.identity = identity;
      state.content_id = content_ids_.next();
      dropped = std::move(state.view);
    }
    return state.content_id;
  });
}

Result<OpenContainer> Filesystem::open_container(Node& node) {
  FRAMEFS_TRY(const auto source, open_source(node));
  return read_container(node, source);
}

// What is in the container that is open as `source`: the node, or the one that it is a member of.
Result<OpenContainer> Filesystem::read_container(Node& node, const BackingFile& source) {
  const auto above = node.key.is_member() ? nodes_.container_of(node) : nullptr;
  Node& host = above ? *above : node;
  if (!source.file()) return system_error_of(ESTALE, "open");
  OpenContainer opened;
  opened.file = source.file();
  FRAMEFS_TRY(opened.stat, source.content_stat());
  const CacheKey key{.content = content_id(host, identity_of(opened.stat)),
                     .kind = CacheKind::container};
  FRAMEFS_TRY(opened.container, cache_.get<Container>(key, [&] {
    return Container::open(opened.file, name_for_log(host), options_.limits, log_);
  }));
  return opened;
}

Result<FrameOrigin> Filesystem::origin_of(Node& node, const BackingFile& source) {
  auto name = name_for_log(node);
  if (!node.key.is_member()) return source.origin(options_.source_offset, std::move(name));
  FRAMEFS_TRY(const auto opened, read_container(node, source));
  FRAMEFS_TRY(auto member, opened.container->open_member(opened.file, node.key.member));
  return contiguous_origin(std::move(member), std::move(name));
}

Result<std::shared_ptr<const View>> Filesystem::make_view(const OpenFile& file, ContentId content) {
  auto origin = origin_of(*file.node, file.source);
  const auto shown_as = file.node->key.shown_as;
  if (shown_as == ShownAs::itself) {
    Result<std::shared_ptr<const codec::ByteSource>> bytes;
    if (origin) {
      bytes = origin->source;
    } else {
      log_.failure(name_for_log(*file.node), origin.error());
      bytes = std::unexpected(origin.error());
    }
    return std::make_shared<const WindowView>(std::move(bytes), buffers_);
  }
  if (!origin) return std::unexpected(origin.error());
  auto frame = std::make_shared<const CachedFrame>(std::move(*origin), content, services());
  if (shown_as == ShownAs::frame) return std::make_shared<const FrameView>(std::move(frame));
  const auto header = shown_as == ShownAs::npy ? ArrayView::Header::npy : ArrayView::Header::none;
  return std::make_shared<const ArrayView>(std::move(frame), header, options_.cache_bytes);
}

// The view of the file as it is now.  Frames are changed under a mount, by appending or in place: a
// look at the file's times before each read is cheap beside serving bytes of two states.
Result<std::shared_ptr<const View>> Filesystem::current_view(const OpenFile& file) {
  FRAMEFS_TRY(const auto st, file.source.content_stat());
  const auto id = content_id(*file.node, identity_of(st));
  const auto known = file.node->state.with(
      [&](const Node::State& state) { return state.content_id == id ? state.view : nullptr; });
  if (known) return known;
  FRAMEFS_TRY(auto made, make_view(file, id));
  return file.node->state.with([&](Node::State& state) {
    if (state.content_id == id) {
      // Somebody else may have been as quick.
      if (state.view) return state.view;
      state.view = made;
    }
    return std::shared_ptr<const View>(std::move(made));
  });
}

Result<ReadResult> Filesystem::read(OpenFile& file, std::uint64_t offset, std::uint64_t size) {
  const auto access = file.pattern->note(offset, size);
  if (const auto session = session_of(*file.node)) {
    const auto view = view_of(*file.node, *session);
    auto result = session->read_checked([&] { return view->read(offset, size, access); });
    // What another writer has made of it is in the file.
    if (!session->is_lost()) return result;
  }
  FRAMEFS_TRY(const auto view, current_view(file));
  auto result = view->read(offset, size, access);
  if (result) ahead_.follow(file.pattern, view);
  return result;
}

Result<std::uint64_t> Filesystem::seek(const OpenFile& file, Seek what, std::uint64_t offset) {
  if (!file.node->key.has_view()) return seek_file(file.source.fd(), what, offset);
  if (const auto session = session_of(*file.node)) {
    const auto view = view_of(*file.node, *session);
    auto found = session->read_checked([&] { return view->seek(what, offset); });
    if (!session->is_lost()) return found;
  }
  FRAMEFS_TRY(const auto view, current_view(file));
  return view->seek(what, offset);
}

}  // namespace framefs::fs
