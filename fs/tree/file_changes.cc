#include "fs/tree/file_changes.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "fs/core/cases.h"
#include "fs/core/files/file_sink.h"
#include "fs/core/threads/interrupt.h"
#include "fs/core/threads/may_wait.h"
#include "fs/source/sparse_frame.h"
#include "fs/view/array_view.h"

namespace framefs::fs {
namespace {

// Zeros are written to an array in pieces of this size.
constexpr std::size_t kZeroBytes = 256u << 10;

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

Status resize_file(int fd, std::uint64_t size) {
  if (::ftruncate(fd, static_cast<off_t>(size)) == 0) return {};
  return system_error("truncate");
}

}  // namespace

// All bytes of an array exist from the beginning.
Status FileChanges::write_array(Node& node, const WriteSessionTable::Session& session,
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

Status FileChanges::write_pieces(const WriteSessionTable::Session& session,
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

Status FileChanges::write(OpenFile& file, std::uint64_t offset, std::span<const std::byte> bytes) {
  auto& node = *file.node;
  if (!node.key.has_view()) return write_fully(file.source.fd(), offset, bytes);
  FRAMEFS_TRY(const auto changing, parts_.writers.begin_change(file));
  const auto& session = changing.session;
  if (node.key.shown_as != ShownAs::frame) return write_array(node, session, offset, bytes);
  const FrameWriteSession::Piece piece{offset, bytes};
  return write_pieces(session, std::span(&piece, 1));
}

Result<bool> FileChanges::append(OpenFile& file, std::uint64_t offset,
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

Status FileChanges::truncate(Node& node, OpenFile* file, std::uint64_t size) {
  if (!node.key.has_view()) {
    if (file != nullptr) return resize_file(file->source.fd(), size);
    FRAMEFS_TRY(const auto fd,
                parts_.tree.locator().open(node, O_WRONLY | O_NOFOLLOW | O_NONBLOCK));
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

Status FileChanges::allocate(OpenFile& file, int mode, std::uint64_t offset, std::uint64_t size) {
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
  const bool asks_for_space = (mode & FALLOC_FL_PUNCH_HOLE) == 0;
  if (asks_for_space) FRAMEFS_CHECK(check_space(file, session->nbytes(), offset, size));
  if (makes_zeros) {
    FRAMEFS_CHECK(parts_.writers.sessions().write_with_room(
        *session.session, [&] { return session->zero(offset, size); }));
  }
  if (may_grow) {
    return parts_.writers.sessions().with_index_room(
        [&] { return session->extend(offset + size); });
  }
  session->note_attributes();
  return {};
}

Status FileChanges::allocate_array(OpenFile& file, bool makes_zeros, bool may_grow,
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

Status FileChanges::flush(OpenFile& file) {
  const auto session = file.session.get();
  if (!session) return {};
  auto flushed = session->flush_at_close();
  if (flushed) flushed = session->check_all_named();
  if (flushed) flushed = session->check_space();
  // If another writer has replaced the session without loss, the writes of this handle were
  // committed before.
  return session->is_superseded() ? Status{} : flushed;
}

Status FileChanges::sync(OpenFile& file, bool only_data) {
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
