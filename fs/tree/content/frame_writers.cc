#include "fs/tree/content/frame_writers.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "fs/core/cases.h"
#include "fs/core/retries.h"
#include "fs/core/threads/may_wait.h"

namespace framefs::fs {
namespace {

// Opens the object of `fd` again: a file, or the directory of a sparse frame.
Result<BackingFile> reopen_source(int fd) {
  auto again = reopen(fd, O_RDWR | O_NONBLOCK);
  if (!again && again.error().sys == EISDIR) again = reopen(fd, O_RDONLY | O_DIRECTORY);
  if (!again) return std::unexpected(again.error());
  return BackingFile::adopt(std::move(*again));
}

}  // namespace

WrittenBytes FrameWriters::written_bytes(const Node& node) const {
  if (!node.key.shows_frame() || node.key.is_member()) return SavedBytes();
  return table().written_bytes(file_key(node));
}

WriteSessionTable::Session FrameWriters::shown_session(const Node& node) const {
  using Session = WriteSessionTable::Session;
  return std::visit(
      Cases{[](const Session& session) { return session; }, [](SavedBytes) { return Session(); },
            [](LostBytes) { return Session(); }},
      written_bytes(node));
}

Result<FrameWriters::Changing> FrameWriters::begin_change(Node& node,
                                                          WriteSessionTable::Session session,
                                                          int fd) const {
  for (Retries retries; retries.are_left();) {
    std::unique_ptr<FrameOwnership> ownership;
    auto begun = session->begin_change(FrameWriteSession::kPatience, &ownership);
    if (begun) return Changing{std::move(session), std::move(*begun)};
    if (!session->is_superseded()) return std::unexpected(begun.error());
    // The frame is read while no other program changes it.
    Blosc2Lock shared;
    const auto keep_out = [&]() -> Status {
      if (ownership || shared.is_held()) return {};
      FRAMEFS_TRY(const auto source, reopen_source(fd));
      FRAMEFS_TRY(shared, parts_.lock_files.share(node, source, true));
      return {};
    };
    FRAMEFS_CHECK(keep_out());
    const auto make_anew = [&]() -> Result<WriteSessionTable::Session> {
      FRAMEFS_CHECK(keep_out());
      return make_successor(node, fd, std::move(ownership));
    };
    FRAMEFS_TRY(session, sessions().with_index_room(
                             [&] { return sessions().renew(file_key(node), session, make_anew); }));
  }
  return system_error_of(EAGAIN, "a frame that another writer keeps changing");
}

Result<FrameWriters::Changing> FrameWriters::begin_change(OpenFile& file) const {
  const auto known = file.session.get();
  if (!known) return system_error_of(EBADF, "write");
  FRAMEFS_TRY(auto changing, begin_change(*file.node, known, file.source.fd()));
  if (changing.session != known) file.session.set(changing.session);
  return changing;
}

Result<BackingFile> FrameWriters::open(const Node& node, int flags) const {
  constexpr int kAlways = O_NOFOLLOW | O_NONBLOCK;
  auto fd = parts_.locator.open(node, O_RDWR | kAlways);
  if (!fd && node.key.has_view() && fd.error().sys == EISDIR) {
    fd = parts_.locator.open(node, O_RDONLY | kAlways);  // the directory of a sparse frame
  } else if (!fd && !node.key.has_view() && fd.error().sys == EACCES) {
    // A plain file is opened for reading too, because the kernel may read the bytes around a write.
    // If reading is not allowed, the kernel does without.
    fd = parts_.locator.open(node, (flags & O_ACCMODE) | kAlways);
  }
  if (!fd) return std::unexpected(fd.error());
  return BackingFile::adopt(std::move(*fd));
}

// A session for a frame that another program has changed.
Result<std::shared_ptr<FrameWriteSession>> FrameWriters::make_successor(
    Node& node, int fd, std::unique_ptr<FrameOwnership> ownership) const {
  FRAMEFS_TRY(const auto source, reopen_source(fd));
  FRAMEFS_TRY(const auto st, source.content_stat());
  if (st.st_nlink == 0 && !parts_.locator.nodes().held(node)) {
    return system_error_of(EIO, "another program has removed or replaced the frame");
  }
  return make(node, source, nullptr, std::move(ownership));
}

// A frame that was never written gets its typesize and filters with its first chunk.
Result<std::shared_ptr<FrameWriteSession>> FrameWriters::make(
    Node& node, const BackingFile& source, const NewFile* new_file,
    std::unique_ptr<FrameOwnership> ownership) const {
  if (new_file == nullptr) {
    FRAMEFS_TRY(const auto st, source.content_stat());
    // Another file has taken the place of this one since the caller opened it.
    if (st.st_nlink == 0 && !parts_.locator.nodes().held(node)) {
      return system_error_of(ESTALE, "open");
    }
  }
  auto name = parts_.locator.name_for_log(node);
  WriteTarget target{.file = source.file(),
                     .directory = {},
                     .name = name,
                     .lock_file = parts_.lock_files.of(node, source.is_sparse()),
                     .ownership = std::move(ownership)};
  if (new_file != nullptr && new_file->stat_at_link) {
    target.made = MadeFile{new_file->bytes, *new_file->stat_at_link};
  }
  if (source.is_sparse()) {
    target.directory = UniqueFd(::fcntl(source.fd(), F_DUPFD_CLOEXEC, 0));
    if (!target.directory) return system_error("dup");
  }
  const auto& services = parts_.core.services;
  const auto& reads = services.reads;
  // Blocks that readers have cached may belong to an earlier state than the one opened here.
  auto opening = open_for_writing_frame(std::move(target), services.content_ids.next(),
                                        reads.limits, services.overlay);
  if (!opening) {
    if (!has_refused_to_wait()) reads.log.failure(name, opening.error());
    return std::unexpected(opening.error());
  }
  opening->ctime = parts_.core.ctimes.find(identity_of(opening->stat));
  std::optional<NewFrame> planned;
  if (new_file != nullptr) {
    planned = new_file->frame;
  } else if (opening->frame.nbytes() == 0 && opening->frame.header().typesize == 1) {
    planned = parts_.new_frames.frame_for(parts_.locator.nodes().path_of(node));
  }
  if (planned) {
    opening->choose_params = [chosen = *planned](std::span<const std::byte> first) {
      return codec::choose_params_by_trial(chosen.encode, chosen.hints, first);
    };
  }
  auto session = FrameWriteSession::make(std::move(*opening), services);
  if (parts_.locator.nodes().held(node)) session->expect_removal();
  return session;
}

Result<std::shared_ptr<FrameWriteSession>> FrameWriters::join(Node& node, const BackingFile& source,
                                                              const NewFile* new_file) const {
  Blosc2Lock shared;
  const auto keep_out = [&]() -> Status {
    if (new_file != nullptr || shared.is_held()) return {};
    FRAMEFS_TRY(shared, parts_.lock_files.share(node, source, true));
    return {};
  };
  FRAMEFS_CHECK(keep_out());
  const auto open = [&]() -> Result<WriteSessionTable::Session> {
    // Once more: a session that owned the frame may have just ended.
    FRAMEFS_CHECK(keep_out());
    return make(node, source, new_file);
  };
  const auto file = file_key(node);
  FRAMEFS_TRY(auto session,
              sessions().with_index_room([&] { return sessions().open(file, open); }));
  shared = {};
  parts_.pages.drain(file);
  return session;
}

void FrameWriters::leave(const Node& node, const WriteSessionTable::Session& session) const {
  const auto file = file_key(node);
  sessions().close(file, session);
  // The kernel may forget a file before the last close of the file is answered.
  if (!parts_.locator.nodes().knows(file)) table().end_unreachable(file);
}

}  // namespace framefs::fs
