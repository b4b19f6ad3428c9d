#include "fs/tree/file_contents.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "fs/core/cases.h"
#include "fs/core/file_sink.h"
#include "fs/core/interrupt.h"
#include "fs/core/log.h"
#include "fs/core/may_wait.h"
#include "fs/core/retries.h"
#include "fs/source/sparse_frame.h"
#include "fs/view/array_view.h"

namespace framefs::fs {
namespace {

// Zeros are written to an array in pieces of this size.
constexpr std::size_t kZeroBytes = 256u << 10;

Result<std::uint64_t> seek_file(int fd, Seek what, std::uint64_t offset) {
  // Moving this position is harmless: files are read by offset.
  const auto found =
      ::lseek(fd, static_cast<off_t>(offset), what == Seek::data ? SEEK_DATA : SEEK_HOLE);
  if (found < 0) return system_error("lseek");
  return static_cast<std::uint64_t>(found);
}

// A frame holds no space for bytes that are not written.  Nevertheless a program that asks for more
// than there is hears of it now.  Bytes below `end` may have their space.
Status check_space(const OpenFile& file, std::uint64_t end, std::uint64_t offset,
                   std::uint64_t size) {
  struct statvfs st{};
  if (::fstatvfs(file.source.fd(), &st) != 0) return system_error("statvfs");
  const auto within = std::min(size, end - std::min(end, offset));
  const auto missing = size - within;
  if (st.f_blocks == 0 || missing / st.f_frsize < st.f_bavail) return {};  // 0: without a limit
  return system_error_of(ENOSPC, "fallocate");
}

// Whether the caller's rights still suffice for a sparse frame: see BackingFile::content_stat().
Status check_rights(const OpenFile& file) {
  if (!file.source.is_sparse()) return {};
  const auto st = file.source.content_stat();
  // A frame that was removed stays readable.
  if (!st && st.error().sys == EACCES) return std::unexpected(st.error());
  return {};
}

// Errors: ESTALE if the file of an immutable mount has not the state that the kernel knows.
Status check_unchanged(Node& node, const FileIdentity& identity) {
  if (node.told.is(identity)) return {};
  return system_error_of(ESTALE, "another size or time of change");
}

// Whether a handle that opens the content `now` needs no view before it is read: that content is
// known to be readable, nobody writes it, and no lock file has to be asked.
bool is_known_readable(const Node& node, const ContentState& now) {
  if (now.session_id != 0) return false;
  return node.state.with([&](const Node::State& state) {
    const auto& [_, content, pages, lock_file] = state;
    return content.is_readable(now.identity) && !lock_file.exists() &&
           lock_file.is_of(content.id());
  });
}

Status resize_file(int fd, std::uint64_t size) {
  if (::ftruncate(fd, static_cast<off_t>(size)) == 0) return {};
  return system_error("truncate");
}

}  // namespace

Result<OpenedFile> FileContents::open(NodeId id, int flags) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  return parts_.tree.with_node(id, [&](std::shared_ptr<Node> node) -> Result<OpenedFile> {
    if (writes) FRAMEFS_CHECK(parts_.tree.check_writable(*node));
    FRAMEFS_TRY(auto source,
                writes ? parts_.writers.open(*node, flags) : parts_.locator.open_file(*node));
    return open_as(std::move(node), std::move(source), flags, nullptr);
  });
}

Result<ContentState> FileContents::content_now(const OpenFile& file) const {
  return parts_.writers.content_state(*file.node, [&] { return file.source.content_stat(); });
}

// With --writeback, the kernel keeps its own size of a file that it knows, and appends there. After
// another program has changed the frame, the kernel must therefore know it as another file.
// Errors: ESTALE if the frame has changed; the kernel then looks the name up again.
Status FileContents::check_kernel_size(const OpenFile& file) const {
  const auto& node = *file.node;
  if (!node.key.shows_frame() || node.key.is_member() || node.is_exported()) return {};
  FRAMEFS_TRY(const auto now, content_now(file));
  if (now.session_id != 0) return {};
  const bool is_known = node.state.with(
      [&](const Node::State& state) { return state.pages.may_have_size_of(now.identity); });
  if (is_known) return {};
  parts_.locator.nodes().detach(node);
  return system_error_of(ESTALE, "open of a frame that another program has changed");
}

// Counts a new handle.  Errors: ESTALE if another file has taken the place of this one since the
// handle was made.
Status FileContents::count_handle(OpenFile& file) const {
  auto& node = *file.node;
  const auto count = [&] {
    return node.state.with([&](Node::State& state) {
      if (!state.handles.add(file.is_mappable)) return false;
      file.keeper = state.handles.share(file.source.file());
      return true;
    });
  };
  if (count()) return {};
  parts_.locator.wait_for_renames();  // it may fail
  return count() ? Status{} : system_error_of(ESTALE, "open");
}

Result<bool> FileContents::bypasses_pages(const OpenFile& file, bool is_written) const {
  const auto& key = file.node->key;
  // Pages of one node of a file do not contain the bytes that were written through another.
  if (is_written) {
    return key.by_full_name || (arrays_ == ArrayViews::both && key.shown_as != ShownAs::frame);
  }
  if (!key.has_view()) {
    if (!file.source.file()) return system_error_of(EISDIR, "open");
    return false;
  }
  return reading(file, [&](const auto& view, const void* session) -> Result<bool> {
    const bool is_readable = view->is_readable();
    if (is_readable && session == nullptr) {
      file.node->state.with([&](Node::State& state) { state.content.note_readable(view); });
    }
    return !is_readable;
  });
}

Result<OpenedFile> FileContents::open_as(std::shared_ptr<Node> node, BackingFile source, int flags,
                                         const NewFile* new_file) {
  OpenedFile opened;
  opened.file =
      std::make_unique<OpenFile>(std::move(node), std::move(source), parts_.ahead.new_pattern());
  auto& file = *opened.file;
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  file.is_mappable = (flags & O_ACCMODE) == O_RDWR;
  if (has_writeback_ && new_file == nullptr) FRAMEFS_CHECK(check_kernel_size(file));
  if (writes && file.node->key.has_view()) {
    FRAMEFS_TRY(auto joined, parts_.writers.join(*file.node, file.source, new_file));
    file.session.set(std::move(joined));
  }
  // The session of a new file has just been made: no other program needs to be looked for yet.
  const auto session = file.session.get();
  const auto now = new_file == nullptr
                       ? content_now(file)
                       : Result<ContentState>(ContentState{identity_of(new_file->stat),
                                                           session ? session->id() : 0});
  if (!now) {
    leave(file);
    return std::unexpected(now.error());
  }
  file.had_bytes = now->identity.size > 0;
  if (immutable_) FRAMEFS_CHECK(check_unchanged(*file.node, now->identity));
  if (const auto counted = count_handle(file); !counted) {
    leave(file);
    return std::unexpected(counted.error());
  }
  opened.keep_pages =
      file.node->state.with([&](Node::State& state) { return state.pages.open(*now); });
  // The kernel drops its pages with the reply; no page of an earlier state may follow.
  if (!opened.keep_pages) parts_.pages.drain(file_key(*file.node));
  // A view is not made for a handle that the kernel serves from its pages.
  const bool is_known = opened.keep_pages && is_known_readable(*file.node, *now);
  const auto bypasses = is_known ? Result<bool>(false) : bypasses_pages(file, now->session_id != 0);
  if (!bypasses) {
    close(file);
    return std::unexpected(bypasses.error());
  }
  opened.bypass_pages = *bypasses;
  opened.habit = expected_habit(*file.node);
  return opened;
}

// numpy.load(mmap_mode=) reads the header through one handle, and keeps it while it opens the array
// once more to map it.  Slices of a mapped array are jumps.
ReadHabit FileContents::expected_habit(const Node& node) const {
  const auto last = habits_.of(NodeKeyHash{}(node.key));
  if (last != ReadHabit::unknown || node.key.shown_as != ShownAs::npy) return last;
  const bool is_open_twice =
      node.state.with([](const Node::State& state) { return state.handles.count() > 1; });
  return is_open_twice ? ReadHabit::jumps : ReadHabit::unknown;
}

Result<std::shared_ptr<OpenFile>> FileContents::open_reader(NodeId id) {
  FRAMEFS_TRY(auto opened, open(id, O_RDONLY));
  const auto end = [this](OpenFile* file) {
    const std::unique_ptr<OpenFile> last(file);
    close(*file);
  };
  return std::shared_ptr<OpenFile>(opened.file.release(), end);
}

void FileContents::close(const OpenFile& file) {
  habits_.note(NodeKeyHash{}(file.node->key), file.pattern->habit());
  // The last handle releases the view and its descriptor; the cached blocks stay valid.
  ShownContent::Dropped dropped;
  const bool writes = file.session.get() != nullptr;
  const bool is_end_of_writing = file.node->state.with([&](Node::State& state) {
    if (!state.handles.remove(file.is_mappable, writes)) return false;
    dropped = state.content.release();
    return state.handles.take_written();
  });
  leave(file);
  if (is_end_of_writing) parts_.arrays.note(file_key(*file.node));
}

void FileContents::leave(const OpenFile& file) const {
  if (const auto session = file.session.get()) parts_.writers.leave(*file.node, session);
}

template <class Body>
auto FileContents::reading(const OpenFile& file, const Body& body) const
    -> decltype(body(std::shared_ptr<const View>(), nullptr)) {
  if (immutable_) return reading_immutable(file, body);
  auto& node = *file.node;
  for (Retries retries;;) {
    HeldFailures failures;  // until it is known that the frame did not change meanwhile
    FRAMEFS_TRY(auto shared, parts_.lock_files.share(node, file.source));
    if (const auto session = parts_.writers.shown_session(node)) {
      FRAMEFS_CHECK(check_rights(file));
      const auto view = parts_.views.of_session(node, *session);
      auto result = session->read_checked([&] { return body(view, session.get()); });
      // If another writer has changed the frame, the new content is in the file.
      if (!session->is_lost()) return result;
      failures.forget();
    }
    // A session that owned the frame has just ended.
    const bool is_unlocked = !shared.is_held() && LockFiles::has_lock_file(node);
    if (is_unlocked && retries.are_left()) continue;
    FRAMEFS_TRY(auto now, parts_.views.current(file));
    if (!shared.is_held() && LockFiles::is_due(node)) {
      FRAMEFS_TRY(shared, parts_.lock_files.share(node, file.source));
      if (shared.is_held()) {
        FRAMEFS_TRY(now, parts_.views.current(file));
      }
    }
    // A program that copies over a frame in place empties it first.  A short answer would let the
    // kernel fill its page with zeros, which no state of the frame contained.
    if (file.had_bytes && now.identity.size == 0) {
      return system_error_of(ESTALE, "a frame that another program has emptied");
    }
    auto result = body(now.view, nullptr);
    // A program that does not lock the frame may have changed it during the read.
    if (parts_.views.is_current(file, now.content)) return result;
    failures.forget();
    if (!retries.are_left()) {
      return system_error_of(ESTALE, "a frame that another program changes all the time");
    }
  }
}

// The same for an immutable mount: no writer needs to be looked for.
template <class Body>
auto FileContents::reading_immutable(const OpenFile& file, const Body& body) const
    -> decltype(body(std::shared_ptr<const View>(), nullptr)) {
  HeldFailures failures;  // until it is known that the frame did not change meanwhile
  FRAMEFS_TRY(const auto now, parts_.views.current(file));
  FRAMEFS_CHECK(check_unchanged(*file.node, now.identity));
  auto result = body(now.view, nullptr);
  if (parts_.views.is_current(file, now.content)) return result;
  failures.forget();
  return system_error_of(ESTALE, "a change during the read");
}

Result<ReadResult> FileContents::read(OpenFile& file, std::uint64_t offset, std::uint64_t size) {
  const auto access = file.pattern->note(offset, size);
  return reading(file, [&](const std::shared_ptr<const View>& view, const void* session) {
    auto result = view->read(offset, size, access);
    if (result && session == nullptr) parts_.ahead.follow(file.pattern, view);
    return result;
  });
}

Status FileContents::check_plain(const OpenFile& file) const {
  if (!immutable_) return {};
  FRAMEFS_TRY(const auto st, file.source.content_stat());
  return check_unchanged(*file.node, identity_of(st));
}

Result<std::uint64_t> FileContents::seek(const OpenFile& file, Seek what, std::uint64_t offset) {
  if (!file.node->key.has_view()) return seek_file(file.source.fd(), what, offset);
  return reading(file, [&](const std::shared_ptr<const View>& view, const void*) {
    return view->seek(what, offset);
  });
}

// All bytes of an array exist from the beginning.
Status FileContents::write_array(Node& node, const WriteSessionTable::Session& session,
                                 std::uint64_t offset, std::span<const std::byte> bytes) {
  const auto view = parts_.views.array_of(node, *session);
  if (!view->is_readable()) return system_error_of(EIO, "write");
  // A program that writes through a memory mapping also writes the header, unchanged.
  const auto header = view->header();
  if (offset < header.size()) {
    const auto known = header.subspan(offset);
    const auto again = bytes.first(std::min(bytes.size(), known.size()));
    if (!std::ranges::equal(again, known.first(again.size()))) {
      return parts_.tree.refuse_array_change(node);
    }
    bytes = bytes.subspan(again.size());
    offset += again.size();
  }
  const auto end = header.size() + view->array_bytes();
  if (offset > end || bytes.size() > end - offset) return parts_.tree.refuse_array_change(node);
  if (bytes.empty()) return {};
  std::vector<FrameWriteSession::Piece> pieces;
  view->for_each_piece({offset - header.size(), bytes.size()},
                       [&](std::uint64_t place, std::uint64_t within, std::uint64_t size) {
                         pieces.push_back({place, bytes.subspan(within, size)});
                       });
  return write_pieces(session, pieces);
}

Status FileContents::write_pieces(const WriteSessionTable::Session& session,
                                  std::span<const FrameWriteSession::Piece> pieces) const {
  FRAMEFS_CHECK(session->check_space());
  auto& sessions = parts_.writers.sessions();
  WriteSteps steps(pieces, session->chunksize());
  auto step = steps.next();
  while (!step.empty()) {
    FRAMEFS_TRY(const auto written,
                sessions.write_with_room(*session, [&] { return session->write(step); }));
    if (written.has_full) sessions.note_full(session);
    step = steps.next();
    if (!step.empty() && interrupted()) return system_error_of(EINTR, "write");
  }
  return {};
}

Status FileContents::write(OpenFile& file, std::uint64_t offset, std::span<const std::byte> bytes) {
  auto& node = *file.node;
  if (!node.key.has_view()) return write_fully(file.source.fd(), offset, bytes);
  FRAMEFS_TRY(const auto changing, parts_.writers.begin_change(file));
  const auto& session = changing.session;
  if (node.key.shown_as != ShownAs::frame) return write_array(node, session, offset, bytes);
  const FrameWriteSession::Piece piece{offset, bytes};
  return write_pieces(session, std::span(&piece, 1));
}

Result<bool> FileContents::append(OpenFile& file, std::uint64_t offset,
                                  std::span<const std::byte> bytes) {
  const auto& key = file.node->key;
  if (!key.has_view()) {
    FRAMEFS_CHECK(append_fully(file.source.fd(), bytes));
    FRAMEFS_TRY(const auto st, stat_of(file.source.fd()));
    return static_cast<std::uint64_t>(st.st_size) == offset + bytes.size();
  }
  // The size of an array is fixed: nothing can be appended, and the write itself reports that.
  if (key.shown_as != ShownAs::frame) {
    FRAMEFS_CHECK(write(file, offset, bytes));
    return true;
  }
  FRAMEFS_TRY(const auto changing, parts_.writers.begin_change(file));
  FRAMEFS_CHECK(changing->check_space());
  auto& sessions = parts_.writers.sessions();
  if (bytes.size() / changing->chunksize() >= WriteSteps::kMaxChunks) {
    // No other writer's bytes come between the steps.  The zeros must not be appended twice.
    if (!may_wait()) return std::unexpected(would_wait().error());
    FRAMEFS_TRY(const auto extended,
                sessions.with_index_room([&] { return changing->append_zeros(bytes.size()); }));
    const FrameWriteSession::Piece piece{extended.offset, bytes};
    FRAMEFS_CHECK(write_pieces(changing.session, std::span(&piece, 1)));
    return extended.offset == offset;
  }
  FRAMEFS_TRY(const auto appended,
              sessions.write_with_room(*changing.session, [&] { return changing->append(bytes); }));
  if (appended.has_full) sessions.note_full(changing.session);
  return appended.offset == offset;
}

Status FileContents::truncate(Node& node, OpenFile* file, std::uint64_t size) {
  if (!node.key.has_view()) {
    if (file != nullptr) return resize_file(file->source.fd(), size);
    FRAMEFS_TRY(const auto fd, parts_.locator.open(node, O_WRONLY | O_NOFOLLOW | O_NONBLOCK));
    return resize_file(fd.get(), size);
  }
  if (node.key.shown_as != ShownAs::frame) {
    FRAMEFS_TRY(const auto now, parts_.tree.stat_node(node));
    const bool is_same = size == static_cast<std::uint64_t>(now.st_size);
    return is_same ? Status{} : parts_.tree.refuse_array_change(node);
  }
  const auto resize = [&](FrameWriteSession& session) {
    return parts_.writers.sessions().with_index_room([&] { return session.truncate(size); });
  };
  if (file == nullptr || !file->session.get()) return parts_.writers.with_session(node, resize);
  FRAMEFS_TRY(const auto changing, parts_.writers.begin_change(*file));
  return resize(*changing.session);
}

Status FileContents::allocate(OpenFile& file, int mode, std::uint64_t offset, std::uint64_t size) {
  if (!file.node->key.has_view()) {
    const int done =
        ::fallocate(file.source.fd(), mode, static_cast<off_t>(offset), static_cast<off_t>(size));
    return done == 0 ? Status{} : system_error("fallocate");
  }
  FRAMEFS_TRY(const auto session, parts_.writers.begin_change(file));
  constexpr int kKnown = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE;
  if ((mode & ~kKnown) != 0) return system_error_of(EOPNOTSUPP, "fallocate");
  const bool makes_zeros = (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0;
  const bool may_grow = (mode & FALLOC_FL_KEEP_SIZE) == 0;
  if (file.node->key.shown_as != ShownAs::frame) {
    return allocate_array(file, makes_zeros, may_grow, offset, size);
  }
  if (makes_zeros) {
    FRAMEFS_CHECK(parts_.writers.sessions().write_with_room(
        *session.session, [&] { return session->zero(offset, size); }));
  }
  if (!makes_zeros) FRAMEFS_CHECK(check_space(file, session->nbytes(), offset, size));
  if (may_grow) {
    return parts_.writers.sessions().with_index_room(
        [&] { return session->extend(offset + size); });
  }
  session->note_attributes();
  return {};
}

Status FileContents::allocate_array(OpenFile& file, bool makes_zeros, bool may_grow,
                                    std::uint64_t offset, std::uint64_t size) {
  const auto view = parts_.views.array_of(*file.node, *file.session.get());
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

Status FileContents::flush(OpenFile& file) {
  const auto session = file.session.get();
  if (!session) return {};
  auto flushed = session->flush_at_close();
  if (flushed) flushed = session->check_all_named();
  if (flushed) flushed = session->check_space();
  // If another writer has replaced the session without loss, the writes of this handle were
  // committed before.
  return session->is_superseded() ? Status{} : flushed;
}

Status FileContents::sync(OpenFile& file, bool only_data) {
  if (const auto own = file.session.get()) {
    static_cast<void>(own->check());  // is_superseded() reads the result
    auto committed = own->commit(true);
    // Another writer may have changed the frame after an earlier commit, also during this one.
    if (committed || !own->is_superseded()) return committed;
  }
  const auto sync_source = [&](SavedBytes) -> Status {
    if (file.source.is_sparse()) return sync_sparse_frame(file.source.fd());
    const int fd = file.source.fd();
    if ((only_data ? ::fdatasync(fd) : ::fsync(fd)) != 0) return system_error("fsync");
    return {};
  };
  using Session = WriteSessionTable::Session;
  return std::visit(Cases{[](const Session& session) { return session->commit(true); },
                          [](LostBytes lost) { return lost.status(); }, sync_source},
                    parts_.writers.written_bytes(*file.node));
}

}  // namespace framefs::fs
