// The part of the filesystem that writes to files.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "fs/core/file_sink.h"
#include "fs/tree/filesystem.h"
#include "fs/view/array_view.h"
#include "fs/view/frame_view.h"

namespace framefs::fs {
namespace {

// Zeros are written to an array's bytes in pieces of that.
constexpr std::size_t kZeroBytes = 256u << 10;

// Whether another writer has changed the frame since, and nothing was lost by that.
bool is_superseded(const FrameWriteSession& session) {
  return session.is_lost() && !session.has_lost_bytes();
}

// Opens once more what `fd` holds: a file, or the directory of a sparse frame.
Result<UniqueFd> reopen_frame(int fd) {
  auto again = reopen(fd, O_RDWR | O_NONBLOCK);
  if (!again && again.error().sys == EISDIR) again = reopen(fd, O_RDONLY | O_DIRECTORY);
  return again;
}

Status resize_file(int fd, std::uint64_t size) {
  if (::ftruncate(fd, static_cast<off_t>(size)) == 0) return {};
  return system_error("truncate");
}

}  // namespace

WriteSessionTable::Session Filesystem::live_session(const FileKey& key) const {
  auto session = sessions_.find(key);
  return session && session->check() ? session : nullptr;
}

WriteSessionTable::Session Filesystem::session_of(const Node& node) const {
  return node.key.shows_frame() && !node.key.is_member() ? live_session(file_key(node)) : nullptr;
}

// The frame in `source`, which is open for writing, as something to be written.  What was never
// written to is yet to be settled: its typesize and filters come with its first chunk.
Result<std::shared_ptr<FrameWriteSession>> Filesystem::make_session(Node& node,
                                                                    const BackingFile& source,
                                                                    const NewFile* new_file) {
  FRAMEFS_TRY(const auto st, source.content_stat());
  WriteTarget from{.file = source.file(), .directory = {}, .name = name_for_log(node)};
  if (new_file != nullptr) from.bytes = new_file->bytes;
  if (source.is_sparse()) {
    from.directory = UniqueFd(::fcntl(source.fd(), F_DUPFD_CLOEXEC, 0));
    if (!from.directory) return system_error("dup");
  }
  auto opening =
      open_for_writing_frame(std::move(from), content_id(node, identity_of(st)), options_.limits);
  if (!opening) {
    log_.failure(name_for_log(node), opening.error());
    return std::unexpected(opening.error());
  }
  std::optional<NewFrame> planned;
  if (new_file != nullptr) {
    planned = new_file->frame;
  } else if (opening->frame.nbytes() == 0 && opening->frame.header().typesize == 1) {
    planned = new_frames_.frame_for(nodes_.path_of(node));
  }
  if (planned) {
    opening->choose_params = [chosen = *planned](std::span<const std::byte> first) {
      return codec::choose_params_by_trial(chosen.encode, chosen.hints, first);
    };
  }
  return FrameWriteSession::make(std::move(*opening),
                                 WriteServices{services(), chunk_writer_, overlay_, content_ids_});
}

// For writing, a frame's file is open for reading as well, whatever was asked for.
Result<BackingFile> Filesystem::open_for_writing(const Node& node, int flags) const {
  constexpr int kAlways = O_NOFOLLOW | O_NONBLOCK;
  if (node.key.has_view()) {
    auto fd = open_node(node, O_RDWR | kAlways);
    // The directory of a sparse frame.
    if (!fd && fd.error().sys == EISDIR) fd = open_node(node, O_RDONLY | kAlways);
    if (!fd) return std::unexpected(fd.error());
    return BackingFile::adopt(std::move(*fd));
  }
  // The kernel may want to read what surrounds the bytes that somebody writes.
  auto fd = open_node(node, O_RDWR | kAlways);
  if (!fd && fd.error().sys == EACCES) {
    fd = open_node(node, (flags & O_ACCMODE) | kAlways);
  }
  if (!fd) return std::unexpected(fd.error());
  return BackingFile::adopt(std::move(*fd));
}

Result<std::shared_ptr<FrameWriteSession>> Filesystem::join_session(Node& node,
                                                                    const BackingFile& source,
                                                                    const NewFile* new_file) {
  return sessions_.open(file_key(node), [&] { return make_session(node, source, new_file); });
}

// Runs `body` with the node's frame open for writing.
template <class Body>
Status Filesystem::with_session(Node& node, const Body& body) {
  FRAMEFS_TRY(const auto source, open_for_writing(node, O_RDWR));
  FRAMEFS_TRY(const auto joined, join_session(node, source, nullptr));
  const auto changing = begin_change(node, joined, source.fd());
  const auto done = changing ? body(*changing->session) : std::unexpected(changing.error());
  sessions_.close(file_key(node), changing ? changing->session : joined);
  return done;
}

void Filesystem::leave_session(const OpenFile& file) {
  if (const auto session = file.session.get()) sessions_.close(file_key(*file.node), session);
}

// `session`, which has the node's frame open for writing, or one that takes its place, where the frame
// was changed by another writer while this mount had nothing to commit.  `fd` is open in SOURCE.
Result<Filesystem::Changing> Filesystem::begin_change(Node& node,
                                                      WriteSessionTable::Session session, int fd) {
  constexpr int kMaxAttempts = 8;
  for (int i = 0; i < kMaxAttempts; ++i) {
    auto begun = session->begin_change();
    if (begun) return Changing{std::move(session), std::move(*begun)};
    if (!session->is_lost() || session->has_lost_bytes()) return std::unexpected(begun.error());
    FRAMEFS_TRY(session, sessions_.renew(
                             file_key(node), session, [&]() -> Result<WriteSessionTable::Session> {
                               FRAMEFS_TRY(auto again, reopen_frame(fd));
                               FRAMEFS_TRY(auto source, BackingFile::adopt(std::move(again)));
                               return make_session(node, source, nullptr);
                             }));
  }
  return system_error_of(EAGAIN, "a frame that another writer keeps changing");
}

Result<Filesystem::Changing> Filesystem::begin_change(OpenFile& file) {
  const auto known = file.session.get();
  if (!known) return system_error_of(EBADF, "write");
  FRAMEFS_TRY(auto changing, begin_change(*file.node, known, file.source.fd()));
  if (changing.session != known) file.session.set(changing.session);
  return changing;
}

// How a node's file is seen while it is being written.
std::shared_ptr<const View> Filesystem::view_of(Node& node, const FrameWriteSession& session) {
  const auto chunks = session.chunks();
  auto known = node.state.with([&](const Node::State& state) {
    return state.overlay_view_of == session.id() ? state.overlay_view : nullptr;
  });
  if (known) return known;
  std::shared_ptr<const View> made;
  if (node.key.shown_as == ShownAs::frame) {
    made = std::make_shared<const FrameView>(chunks);
  } else {
    const auto header =
        node.key.shown_as == ShownAs::npy ? ArrayView::Header::npy : ArrayView::Header::none;
    made = session.reading(
        [&] { return std::make_shared<const ArrayView>(chunks, header, options_.cache_bytes); });
  }
  std::shared_ptr<const View> dropped;
  node.state.with([&](Node::State& state) {
    dropped = std::exchange(state.overlay_view, made);
    state.overlay_view_of = session.id();
  });
  return made;
}

// What the kernel holds of the file is what was written last, and stays right.
void Filesystem::end_session(const FileKey& key, const FileIdentity& identity) {
  for (const auto shown_as : {ShownAs::frame, ShownAs::array, ShownAs::npy}) {
    const auto node = nodes_.find(NodeKey{key.device, key.inode, shown_as, {}});
    if (!node) continue;
    std::shared_ptr<const View> dropped;
    node->state.with([&](Node::State& state) {
      if (state.kernel_pages_of != 0) state.kernel_pages = identity;
      state.kernel_pages_of = 0;
      // Two states may look alike from outside.
      state.content_id = {};
      dropped = std::move(state.overlay_view);
      state.overlay_view_of = 0;
    });
  }
}

// The bytes of an array are all there from the beginning.
Status Filesystem::write_array(const ArrayView& view, FrameWriteSession& session,
                               std::uint64_t offset, std::span<const std::byte> bytes) {
  // Whoever writes by pages of memory writes the header as well: as it is.
  const auto header = view.header();
  if (offset < header.size()) {
    const auto known = header.subspan(offset);
    const auto again = bytes.first(std::min(bytes.size(), known.size()));
    if (!std::ranges::equal(again, known.first(again.size()))) {
      return system_error_of(EPERM, "write");
    }
    bytes = bytes.subspan(again.size());
    offset += again.size();
  }
  const auto end = header.size() + view.array_bytes();
  if (offset > end || bytes.size() > end - offset) return system_error_of(EPERM, "write");
  if (bytes.empty()) return {};
  std::vector<FrameWriteSession::Piece> pieces;
  view.for_each_piece({offset - header.size(), bytes.size()},
                      [&](std::uint64_t place, std::uint64_t within, std::uint64_t size) {
                        pieces.push_back({place, bytes.subspan(within, size)});
                      });
  FRAMEFS_TRY([[maybe_unused]] const bool has_full, session.write(pieces));
  return {};
}

Result<bool> Filesystem::append(OpenFile& file, std::uint64_t offset,
                                std::span<const std::byte> bytes) {
  const auto& key = file.node->key;
  if (!key.has_view()) {
    FRAMEFS_CHECK(append_fully(file.source.fd(), bytes));
    FRAMEFS_TRY(const auto st, stat_of(file.source.fd()));
    return static_cast<std::uint64_t>(st.st_size) == offset + bytes.size();
  }
  // The size of an array is fixed: nothing can be appended, as the write itself will say.
  if (key.shown_as != ShownAs::frame) {
    FRAMEFS_CHECK(write(file, offset, bytes));
    return true;
  }
  FRAMEFS_TRY(const auto changing, begin_change(file));
  FRAMEFS_CHECK(sessions_.make_room(*changing.session));
  FRAMEFS_TRY(const auto appended, changing->append(bytes));
  if (appended.has_full) sessions_.note_full(changing.session);
  return appended.offset == offset;
}

Status Filesystem::write(OpenFile& file, std::uint64_t offset, std::span<const std::byte> bytes) {
  auto& node = *file.node;
  if (!node.key.has_view()) return write_fully(file.source.fd(), offset, bytes);
  FRAMEFS_TRY(const auto changing, begin_change(file));
  auto& session = *changing.session;
  FRAMEFS_CHECK(sessions_.make_room(session));
  if (node.key.shown_as != ShownAs::frame) {
    const auto view = std::static_pointer_cast<const ArrayView>(view_of(node, session));
    if (!view->is_readable()) return system_error_of(EIO, "write");
    return write_array(*view, session, offset, bytes);
  }
  const FrameWriteSession::Piece piece{offset, bytes};
  FRAMEFS_TRY(const bool has_full, session.write(std::span(&piece, 1)));
  if (has_full) sessions_.note_full(changing.session);
  return {};
}

Status Filesystem::truncate(Node& node, OpenFile* file, std::uint64_t size) {
  if (!node.key.has_view()) {
    if (file != nullptr) return resize_file(file->source.fd(), size);
    FRAMEFS_TRY(const auto fd, open_node(node, O_WRONLY | O_NOFOLLOW | O_NONBLOCK));
    return resize_file(fd.get(), size);
  }
  if (node.key.shown_as != ShownAs::frame) {
    FRAMEFS_TRY(const auto seen, see_node(node));
    const auto now = static_cast<std::uint64_t>(shown(seen, node.key.shown_as).st_size);
    return size == now ? Status{} : system_error_of(EPERM, "truncate");
  }
  const auto resize = [size](FrameWriteSession& session) { return session.truncate(size); };
  if (file == nullptr || !file->session.get()) return with_session(node, resize);
  FRAMEFS_TRY(const auto changing, begin_change(*file));
  return resize(*changing.session);
}

Status Filesystem::allocate(OpenFile& file, int mode, std::uint64_t offset, std::uint64_t size) {
  auto& node = *file.node;
  if (!node.key.has_view()) {
    const int done =
        ::fallocate(file.source.fd(), mode, static_cast<off_t>(offset), static_cast<off_t>(size));
    return done == 0 ? Status{} : system_error("fallocate");
  }
  FRAMEFS_TRY(const auto session, begin_change(file));
  constexpr int kKnown = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE;
  if ((mode & ~kKnown) != 0) return system_error_of(EOPNOTSUPP, "fallocate");
  const bool makes_zeros = (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0;
  const bool may_grow = (mode & FALLOC_FL_KEEP_SIZE) == 0;
  if (node.key.shown_as != ShownAs::frame)
    return allocate_array(file, makes_zeros, may_grow, offset, size);
  if (makes_zeros) FRAMEFS_CHECK(session->zero(offset, size));
  return may_grow ? session->extend(offset + size) : Status{};
}

Status Filesystem::allocate_array(OpenFile& file, bool makes_zeros, bool may_grow,
                                  std::uint64_t offset, std::uint64_t size) {
  const auto view =
      std::static_pointer_cast<const ArrayView>(view_of(*file.node, *file.session.get()));
  if (!view->is_readable()) return system_error_of(EIO, "fallocate");
  const auto end = view->header().size() + view->array_bytes();
  if (may_grow && (offset > end || size > end - offset)) return system_error_of(EPERM, "fallocate");
  if (!makes_zeros || offset >= end) return {};
  size = std::min(size, end - offset);
  const std::vector<std::byte> zeros(std::min<std::uint64_t>(size, kZeroBytes));
  while (size > 0) {
    const auto part = std::span(zeros).first(std::min<std::uint64_t>(size, zeros.size()));
    FRAMEFS_CHECK(write(file, offset, part));
    offset += part.size();
    size -= part.size();
  }
  return {};
}

Status Filesystem::flush(OpenFile& file) {
  // What cannot be stored shows while there is somebody to be told.
  const auto session = file.session.get();
  if (!session || is_superseded(*session)) return {};
  return session->flush(ChunkOverlay::Which::all);
}

Status Filesystem::sync_file(OpenFile& file, bool only_data) {
  if (const auto own = file.session.get()) {
    static_cast<void>(own->check());  // is_superseded() then tells
    if (!is_superseded(*own)) return own->commit(true);
  }
  if (const auto session = session_of(*file.node)) return session->commit(true);
  if (file.node->key.has_view() && !file.source.file()) return {};
  const int fd = file.source.fd();
  if ((only_data ? ::fdatasync(fd) : ::fsync(fd)) != 0) return system_error("fsync");
  return {};
}

Status Filesystem::set_vlmeta(Node& node, std::string_view name,
                              std::span<const std::byte> content) {
  return with_session(node, [&](FrameWriteSession& session) {
    return session.set_vlmeta(name, content, FrameWriteSession::Existing::any);
  });
}

Status Filesystem::remove_vlmeta(Node& node, std::string_view name) {
  return with_session(node, [&](FrameWriteSession& session) {
    return session.set_vlmeta(name, std::nullopt, FrameWriteSession::Existing::must);
  });
}

}  // namespace framefs::fs
