#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fs/core/retries.h"
#include "fs/core/threads/guarded.h"
#include "fs/write/commit/frame_backend.h"
#include "fs/write/commit/serial_committer.h"
#include "fs/write/commit/session_state.h"
#include "fs/write/commit/write_steps.h"
#include "fs/write/frame_vlmeta.h"
#include "fs/write/frame_write_opening.h"
#include "fs/write/overlay/chunk_overlay.h"
#include "fs/write/overlay/overlay_frame.h"
#include "fs/write/write_services.h"

namespace framefs::fs {

// A frame that is being written: its overlay, and the commits that store the written bytes in the
// file.  Each file has one session, however many writers have the file open.
//
// A commit stores one state of the whole frame: everything that was written before the commit
// began.  Writes go on during a commit.  Bytes that a commit cannot store stay in the overlay, and
// the next commit tries again.
//
// Threads: any number.
class FrameWriteSession {
 public:
  using ChooseParams = fs::ChooseParams;
  using Opening = FrameWriteOpening;
  static std::shared_ptr<FrameWriteSession> make(Opening opening, const WriteServices& services);

  // Runs body(const OverlayFrame&) while no writer changes the overlay.
  template <class Body>
  auto reading(Body&& body) const {
    return overlay_.read([&](const ChunkOverlay&) { return std::forward<Body>(body)(); });
  }
  // The same for a body that returns a Result.  Succeeds only if no other process has changed the
  // frame during the body, which runs again after a change.
  // Errors: those of check() and of the body; ESTALE if the frame changes all the time.
  template <class Body>
  auto read_checked(const Body& body) -> decltype(body()) {
    for (Retries retries; retries.are_left();) {
      FRAMEFS_CHECK(check());
      // The result may hold admitted memory, for which readers wait that hold the overlay.  Hence
      // it is dropped before check() may wait for the overlay.
      auto result = reading(body);
      if (state_.is_current()) return result;
    }
    return system_error_of(ESTALE, "a frame that another program changes all the time");
  }
  // Whether the frame is still the one that this session has opened or committed.  If not, the
  // session is_lost().
  // Errors: EIO for such a change; system.
  Status check() { return state_.check(); }

  // This process owns the frame as long as a Change lives and until all written bytes are
  // committed: no other framefs process writes to the frame.
  using Change = SharedOwnership::Change;
  // How long a writer waits for another process.  The other process commits every few seconds.
  static constexpr std::chrono::milliseconds kPatience{15'000};
  // To be called before each change.  Only the first change since a commit has to wait.
  // If another program has changed the frame, and this session has nothing to commit, `successor`
  // gets the ownership: the session that is opened next then cannot be overtaken again.
  // Errors: as check() and check_named(); those of FrameOwnership::take().
  Result<Change> begin_change(std::chrono::milliseconds patience = kPatience,
                              std::unique_ptr<FrameOwnership>* successor = nullptr);
  // Whether this process owns the frame now.
  [[nodiscard]] bool is_owned() const { return state_.ownership().is_owned(); }
  // To be called with the counter of the frame's lock file, by a thread that has locked it.  If
  // another program has changed the frame since, the session is_lost().
  void note_counter(const LockCounter& counter) { state_.note_counter(counter); }
  // Whether the frame can still be found by a name, as far as other programs are concerned.
  // Otherwise readers of the mount see the written bytes, and writers hear that nobody else will.
  // Errors: EIO if another program has removed the file, or renamed another file over it.
  [[nodiscard]] Status check_named() const { return backend_->check_named(); }
  // The same, but without an error if nothing was written that is lost with the file.
  [[nodiscard]] Status check_all_named() const { return state_.check_all_named(); }
  // To be called before this mount removes a name of the frame's file.
  void expect_removal() noexcept { backend_->expect_removal(); }

  // For views.  Views read it only within reading().
  [[nodiscard]] std::shared_ptr<const OverlayFrame> chunks() const noexcept {
    return overlay_frame_;
  }

  // A number that no other session of the mount has or will have.  It changes when another program
  // may have changed bytes of the frame.
  [[nodiscard]] std::uint64_t id() const noexcept { return state_.id(); }

  // The attributes of the frame that users see, all of one moment.
  struct Shown {
    std::uint64_t nbytes = 0;
    timespec mtime{};
    timespec ctime{};
  };
  [[nodiscard]] Shown shown() const;
  [[nodiscard]] std::uint64_t nbytes() const { return shown().nbytes; }
  // Sets the time of the last change to `time`, or to the current time for UTIME_NOW, after `set`
  // has set the time of the file.  No commit will change it.  To be called after check(): the new
  // time hides a change that another program made before.  Errors: those of `set`.
  Status set_mtime(const timespec& time, const std::function<Status()>& set);

  // To be called after a change of attributes or names that did not go through the session.
  void note_attributes() {
    overlay_.write([&](ChunkOverlay& overlay) { overlay.ctime = services_.clock.now(); });
  }

  using Piece = WritePiece;
  struct Written {
    // If not 0, nothing was written: the overlay has no room for this number of bytes.
    std::uint64_t missing_room = 0;
    bool has_full = false;     // chunks are ready to be stored
    std::uint64_t offset = 0;  // for append(): the end of the frame before
  };
  // Writes bytes, also beyond the end of the frame.  All pieces of one call are in the same commit.
  // The memory of a call grows with the number of chunks that it touches, see WriteSteps.
  // Errors: over_limit past ChunkOverlay::max_bytes(); ENOMEM if the longer index has no room.
  Result<Written> write(std::span<const Piece> pieces);
  // Writes bytes at the current end, which other writers may have moved.  Errors: as write().
  Result<Written> append(std::span<const std::byte> bytes);
  // Appends zeros, to be overwritten in steps.  Errors: as write().
  Result<Written> append_zeros(std::uint64_t size);
  // The size of the chunks.  Unit: bytes.
  [[nodiscard]] std::uint32_t chunksize() const {
    return overlay_.read([](const ChunkOverlay& overlay) { return overlay.chunksize(); });
  }
  // Errors: as write().
  Status truncate(std::uint64_t nbytes);
  // Extends the frame with zeros if it is shorter.  Errors: as write().
  Status extend(std::uint64_t nbytes);
  // Replaces bytes by zeros, up to the end of the frame.
  Result<Written> zero(std::uint64_t offset, std::uint64_t size);
  // The memory that the written bytes take.
  [[nodiscard]] std::uint64_t used_bytes() const {
    return overlay_.read([](const ChunkOverlay& overlay) { return overlay.used_bytes(); });
  }
  // Whether the overlay has room for `bytes` more of this frame.
  [[nodiscard]] bool has_room(std::uint64_t bytes) {
    return overlay_.write(
        [&](ChunkOverlay& overlay) { return overlay.reserve(bytes).has_value(); });
  }
  [[nodiscard]] FrameVlmeta& vlmeta() noexcept { return vlmeta_; }

  // Where the thread must not wait, these end with would_wait() instead: begin_change(),
  // truncate(), zero(), flush(), flush_at_close(), flush_full(), make_room(), begin_commit(),
  // check_space(), may_want_compaction(), change_files().

  // Stores the chunks that are dirty now, without a commit.  Those that are written meanwhile are
  // not waited for.
  // Errors: no_space and others of storing; chunks that could not be stored stay dirty.  EINTR
  // where the caller is interrupted.
  Status flush();
  // For a program that closes the file: the same if SOURCE may lack room for the written bytes, for
  // only then can the store fail.  Errors: also those of check().
  Status flush_at_close();
  // Stores some of the chunks that were written from end to end.  Returns true if none is left.
  // Errors: as flush().
  Result<bool> flush_full() { return commits_.flush_full(); }
  // Stores dirty chunks until has_room() returns true, or until none is left.  `bytes` is about
  // the memory that is wanted.  Errors: as flush().
  Status make_room(std::uint64_t bytes, const std::function<bool()>& has_room) {
    return commits_.make_room(bytes, has_room);
  }
  // The size of the chunks that a commit would have to store.
  [[nodiscard]] std::uint64_t unstored_bytes() const {
    return overlay_.read([](const ChunkOverlay& overlay) { return overlay.unstored_bytes(); });
  }

  // Commits everything that was written; durably if asked.  Stores most of it before, so that other
  // threads get their turns.
  Status commit(bool durably);

  // The same in two steps, so that the kernel can write the bytes of many frames between them.
  // begin_commit() returns the argument for finish_commit(), or nothing if there is nothing to
  // commit.
  //
  // No lock is held between the steps.  A thread that stores, commits or truncates meanwhile does
  // not wait for the second step: it first finishes the commit itself.
  using Commit = FrameCommitter::Commit;
  Result<std::optional<Commit>> begin_commit() { return commits_.begin_commit(); }
  // Syncs this frame and publishes the commit, which is not durable when this returns.  Does
  // nothing if another thread has finished the commit.
  Status finish_commit(const Commit& commit) { return commits_.finish_commit(commit); }
  // Whether the last store or commit has failed because SOURCE was full.
  [[nodiscard]] bool is_out_of_space() const noexcept { return state_.is_out_of_space(); }
  // To be called before a change that takes space.  If the last store or commit has failed because
  // SOURCE was full, tries again to commit.  Errors: no_space and others of commit().
  Status check_space();
  // A descriptor on the filesystem of the frame.
  [[nodiscard]] int sync_fd() const noexcept { return backend_->lock_fd(); }

  [[nodiscard]] bool is_changed() const { return state_.is_changed(); }
  // The same, and true also while a commit of all changes is under way.
  [[nodiscard]] bool has_uncommitted() const { return state_.has_uncommitted(); }
  // Nothing can be committed any more.  Every further write, sync and commit reports it.
  [[nodiscard]] bool is_lost() const noexcept { return state_.is_lost(); }
  // Whether written bytes are lost of which no sync has told.  Nobody misses those of a file that
  // has no name left.
  [[nodiscard]] bool has_lost_bytes() const {
    const bool are_lost = (is_lost() && !is_superseded()) || state_.has_dropped();
    return are_lost && !is_unlinked();
  }
  // The session is_lost(), but no written bytes are lost: another session of the frame can take the
  // place of this one.
  [[nodiscard]] bool is_superseded() const { return state_.is_superseded(); }
  // Writes the frame without dead space, in place and by commits of its own.  It does so if the
  // dead space is at least as large as the rest of the frame, or if there is any and `always` is
  // set.  It also does so if the reference library refuses the numbers that chunks of a sparse
  // frame have.
  //
  // Unless `always` is set, the work ends early, with a whole frame, as soon as another thread
  // wants to change or commit the frame, or is_ending() returns true.
  Status compact(bool always, const std::function<bool()>& is_ending = nullptr);
  // Whether compact(false) might have work.  The answer for a frame of many chunks is `now`,
  // because finding it out is work as well.
  [[nodiscard]] Result<CompactionNeed> may_want_compaction() {
    return commits_.may_want_compaction();
  }

  // Runs `change`, which changes attributes of all files of a sparse frame.  No commit adds one or
  // replaces one meanwhile, which would then have the attributes from before.
  Status change_files(const std::function<Status()>& change) { return commits_.alone(change); }

  // Runs `remove`, which removes the frame's files, while nothing is stored.  After it has
  // succeeded, nothing is stored any more: only processes that have the file open see the written
  // bytes.  Errors: those of `remove`.
  Status remove(const std::function<Status()>& remove) { return commits_.remove(remove); }
  [[nodiscard]] bool is_removed() const noexcept { return state_.is_removed(); }

  // To be called when the session has ended.  Its index leaves its room to others, although some
  // thread may still look at the session.
  void release_index() {
    overlay_.write([](ChunkOverlay& overlay) { overlay.release_index(); });
  }

  // To be called before the session ends.  Drops the bytes that could not be committed, and frees
  // the space that they took in SOURCE.
  void discard() { commits_.discard(); }

  // To be called when no process seems to write any more.  If everything is committed, frees the
  // space that only readers of older states can still need.  Returns false, and does nothing, where
  // the thread must not wait and would have to.
  bool release_old_states() { return commits_.release_old_states(); }

  // To be called only while nothing is committed.
  [[nodiscard]] int content_fd() const noexcept { return backend_->content_fd(); }
  // The stat of the file whose state is the frame's; it has no links if the file was removed.
  // Errors: system.
  [[nodiscard]] Result<struct stat> content_stat() const { return backend_->content_stat(); }
  // Whether the file has no name left.
  [[nodiscard]] bool is_unlinked() const {
    const auto st = content_stat();
    return st && st->st_nlink == 0;
  }
  [[nodiscard]] const std::string& name() const noexcept { return overlay_frame_->origin().name; }

 private:
  FrameWriteSession(Opening opening, const WriteServices& services);
  Result<Written> write_to(ChunkOverlay& overlay, std::span<const Piece> pieces);
  void touch(ChunkOverlay& overlay) const;
  Status change_stored(const std::function<std::vector<std::int64_t>(ChunkOverlay&)>& change);

  // Constant after construction.
  const WriteServices services_;
  // Self-synchronised, but for the functions that `commits_` alone calls.
  const std::unique_ptr<FrameBackend> backend_;
  // Self-synchronised.
  Shared<ChunkOverlay> overlay_;
  const std::shared_ptr<const OverlayFrame> overlay_frame_;
  SessionState state_;
  SerialCommitter commits_;
  FrameVlmeta vlmeta_;
};

}  // namespace framefs::fs
