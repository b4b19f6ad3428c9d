#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/chunk/encode_params.h"
#include "fs/core/guarded.h"
#include "fs/write/chunk_overlay.h"
#include "fs/write/chunk_writer.h"
#include "fs/write/frame_backend.h"
#include "fs/write/frame_lock.h"
#include "fs/write/overlay_frame.h"

namespace framefs::fs {

// What all sessions of a mount share.  Lifetime: all of it outlives every session.
struct WriteServices {
  ReadServices reads;
  ChunkWriter& chunk_writer;
  OverlayBudget& overlay;
  ContentIds& content_ids;
};

// A frame that is being written: what was written, on its way to the file, and the commits that make
// it the frame.  One for each file, however many have it open.
//
// A commit stores one state of the whole frame: what had been written when it began.  Writing goes on
// beside it.  What it cannot store stays, and is tried again with the next commit.
//
// Threads: any number.
class FrameWriteSession {
 public:
  // Completes the parameters of a new frame by what its first chunk holds.
  using ChooseParams =
      std::function<Result<codec::EncodeParams>(std::span<const std::byte> first_chunk)>;

  struct Opening {
    FrameOrigin origin;    // as readers open it
    ContentId content_id;  // of its state
    std::unique_ptr<FrameBackend> backend;
    codec::Frame frame;
    std::vector<std::int64_t> entries;
    std::vector<codec::NamedContent> vlmetalayers;
    std::uint32_t chunksize = 0;
    codec::EncodeParams params;
    ChooseParams choose_params = nullptr;  // of a frame that is new
  };
  // Errors: system.
  static Result<std::shared_ptr<FrameWriteSession>> make(Opening opening,
                                                         const WriteServices& services);

  // Runs body(const OverlayFrame&) while nobody changes what it reads.
  template <class Body>
  auto reading(Body&& body) const {
    return overlay_.read([&](const ChunkOverlay&) { return std::forward<Body>(body)(); });
  }
  // The same for a body that returns a Result, of a frame that nobody else has changed, before or
  // meanwhile.  Errors: those of check() and of the body.
  template <class Body>
  auto read_checked(Body&& body) -> decltype(body()) {
    FRAMEFS_CHECK(check());
    auto result = reading(std::forward<Body>(body));
    FRAMEFS_CHECK(check());
    return result;
  }
  // Whether the frame is still the one that this session has opened or committed; is_lost() where not.
  // Errors: EIO for that; system.
  Status check();

  // For as long as one of these lives, and until all that was written is committed, this process owns
  // the frame: no other framefs process writes to it.
  class Change {
   public:
    Change(Change&& other) noexcept : session_(std::exchange(other.session_, nullptr)) {}
    Change& operator=(Change&&) = delete;
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    ~Change() {
      if (session_ != nullptr) session_->end_change();
    }

   private:
    friend class FrameWriteSession;
    explicit Change(FrameWriteSession& session) : session_(&session) {}
    FrameWriteSession* session_;
  };
  // How long a writer waits for another process, which commits every few seconds.
  static constexpr std::chrono::milliseconds kPatience{15'000};
  // To be called before each change.  Only the first one since a commit has to wait.
  // Errors: as check(); those of FrameLock::take().
  Result<Change> begin_change(std::chrono::milliseconds patience = kPatience);

  // For views, which are to be read only within reading().
  [[nodiscard]] std::shared_ptr<const OverlayFrame> chunks() const noexcept {
    return overlay_frame_;
  }

  // No other session of the mount has it, nor ever will.
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

  // What users see of the frame beside its bytes, all of one moment.
  struct Shown {
    std::uint64_t nbytes = 0;
    timespec mtime{};
  };
  [[nodiscard]] Shown shown() const;
  [[nodiscard]] std::uint64_t nbytes() const { return shown().nbytes; }
  [[nodiscard]] timespec mtime() const { return shown().mtime; }
  // To `time`, or to that of now for UTIME_NOW, once `set` has set that of the file; no commit will
  // change it.  Errors: those of `set`.
  Status set_mtime(const timespec& time, const std::function<Status()>& set);

  // Bytes to be written at some place of the frame.
  struct Piece {
    std::uint64_t offset = 0;
    std::span<const std::byte> bytes;
  };
  // Writes bytes, beyond the end too; all that are given at once are in the same commit.  True where
  // chunks are ready to be stored.
  // Errors: over_limit past ChunkOverlay::max_bytes().
  Result<bool> write(std::span<const Piece> pieces);
  struct Appended {
    std::uint64_t offset = 0;  // where the bytes are: where the frame ended
    bool has_full = false;     // as write() returns
  };
  // Writes bytes at the end, wherever other writers have put it by now.  Errors: likewise.
  Result<Appended> append(std::span<const std::byte> bytes);
  // Errors: likewise.
  Status truncate(std::uint64_t nbytes);
  // Makes it longer where it is shorter.  Errors: likewise.
  Status extend(std::uint64_t nbytes);
  // Makes bytes zeros, as far as the frame goes.
  Status zero(std::uint64_t offset, std::uint64_t size);
  enum class Existing : std::uint8_t { any, must, must_not };
  // Nothing for `content`: removes it.
  // Errors: system: ENODATA, EEXIST, ENAMETOOLONG, ENOSPC for more than other writers can cope with.
  Status set_vlmeta(std::string_view name, std::optional<std::span<const std::byte>> content,
                    Existing existing);
  // Decoded; nothing where there is none.
  Result<std::optional<std::vector<std::byte>>> vlmeta(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> vlmeta_names() const;

  // Stores chunks, without a commit: those written from end to end, or all.
  // Errors: no_space and others of storing; what was not stored stays.
  Status flush(ChunkOverlay::Which which);

  // Makes all that was written the frame; durably, where asked.
  Status commit(bool durably);

  // The same in two steps, between which one sync may serve many sessions.  begin_commit() returns what
  // finish_commit() is to be called with, or nothing where there is nothing to commit.
  class Commit {
   public:
    [[nodiscard]] Status sync() const { return session_->backend_->sync(); }

   private:
    friend class FrameWriteSession;
    Commit(FrameWriteSession& session, CommitLock::Hold hold)
        : session_(&session), hold_(std::move(hold)) {}
    FrameWriteSession* session_;
    CommitLock::Hold hold_;
  };
  Result<std::optional<Commit>> begin_commit();
  // `synced` is what came of the sync.  The commit is not durable when this returns.
  Status finish_commit(const Commit& commit, const Status& synced);

  [[nodiscard]] bool is_changed() const;
  // Nothing can be committed any more; who asks for it is told every time.
  [[nodiscard]] bool is_lost() const noexcept { return backend_->is_lost(); }
  // Of a session that is_lost(): whether something was written that was not committed.  Where not,
  // another session of the frame can take its place.
  [[nodiscard]] bool has_lost_bytes() const { return has_uncommitted(); }
  // Writes the frame without dead space, in place and by commits of its own, where that saves more
  // than the frame takes without it, or `always`; and where the reference library refuses the numbers
  // that chunks of a sparse frame have.
  Status compact(bool always);

  // Runs `remove`, which removes the frame's files, while nothing is stored.  Once it has succeeded,
  // nothing ever is: what is written stays with those who have it open.  Errors: those of `remove`.
  Status remove(const std::function<Status()>& remove);
  [[nodiscard]] bool is_removed() const noexcept { return is_removed_; }

  // To be called when nobody seems to write any more: where all is committed, what only readers of
  // older states could want goes.
  void release_old_states();

  // During a commit only.
  [[nodiscard]] int content_fd() const noexcept { return backend_->content_fd(); }
  // Of the file whose state is the frame's; without links where it was removed.  Errors: system.
  [[nodiscard]] Result<struct stat> content_stat() const { return backend_->content_stat(); }
  [[nodiscard]] const std::string& name() const noexcept { return overlay_frame_->origin().name; }

 private:
  FrameWriteSession(Opening opening, const WriteServices& services);
  Status note_lost(Status status);
  [[nodiscard]] bool has_uncommitted() const;
  void end_change() noexcept;
  void release_ownership() noexcept;
  [[nodiscard]] Result<bool> are_large(std::span<const codec::NamedContent> vlmetalayers) const;
  static Status check_size(const ChunkOverlay& overlay, std::uint64_t offset, std::uint64_t size);
  Status write_frozen(std::vector<ChunkOverlay::Frozen> frozen);
  Status choose_params_from(std::span<const ChunkOverlay::Frozen> frozen);
  Status flush_locked(ChunkOverlay::Which which);
  Status prepare_locked();
  Status commit_locked(bool durably);
  Status finish_locked(bool durably);
  Result<std::int64_t> write_last_zeros(std::uint64_t nbytes);
  void drop(std::span<const std::int64_t> entries);
  void restore_mtime() const;
  void keep_mtime_uncommitted() const;
  void end_commit(bool is_committed);
  Status change_locked(const std::function<std::vector<std::int64_t>(ChunkOverlay&)>& change);

  // Constant after construction.
  const WriteServices services_;
  const std::uint64_t id_;
  const codec::FrameHeader header_;
  // Guarded by the turn, in which stored chunks change.
  CommitLock commit_lock_;
  const std::unique_ptr<FrameBackend> backend_;
  codec::EncodeParams params_;
  ChooseParams choose_params_;
  std::optional<std::int64_t> committed_only_;  // an entry that the overlay has not
  bool is_durable_ = false;                     // the state published last
  // Guarded by `owning_` while it is not owned, by `ownership_` when it is.
  FrameLock lock_;
  struct Ownership {
    bool is_owned = false;
    unsigned changers = 0;
    std::uint64_t changes = 0;  // begun
  };
  // Self-synchronised.
  CommitLock owning_;  // for who waits for another process
  Guarded<Ownership> ownership_;
  std::atomic<bool> is_removed_{false};  // set in a turn
  Shared<ChunkOverlay> overlay_;
  std::shared_ptr<const OverlayFrame> overlay_frame_;
};

// Where a frame to be edited is.
struct WriteTarget {
  std::shared_ptr<const FileReader> file;  // open for reading and writing; null for a sparse frame
  UniqueFd directory;                      // of a sparse frame
  std::string name;                        // for the log
  std::span<const std::byte> bytes{};      // all that is in the file, where that is known
};

// Errors: unsupported for frames whose chunks vary in size, and those of the betas; those of a damaged
// header or index; system.
Result<FrameWriteSession::Opening> open_for_writing_frame(WriteTarget source, ContentId content_id,
                                                          const codec::Limits& limits);

}  // namespace framefs::fs
