#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fs/core/threads/guarded.h"
#include "fs/read/content_id.h"
#include "fs/write/commit/chunk_flusher.h"
#include "fs/write/commit/commit_counters.h"
#include "fs/write/commit/frame_backend.h"
#include "fs/write/commit/session_state.h"
#include "fs/write/overlay/chunk_overlay.h"

namespace framefs::fs {

// When a frame that no process writes any more is to be compacted.
enum class CompactionNeed : std::uint8_t { none, when_quiet, now };

// Commits a frame that is being written: stores the chunks of its overlay, and replaces the
// committed state by the state of the overlay.  See FrameWriteSession for what a commit is.
//
// Invariants: stored chunks change their places only in a call of this object.  Every commit that
// has begun ends once, as a success or as a failure.  The ownership is released after a commit, if
// nothing else needs it.  After an error the committed state is whole, and bytes that were not
// committed stay in the overlay, unless the frame is lost.
//
// Threads: one at a time, see SerialCommitter.  Writers change the overlay meanwhile.
// Lifetime: the state and the parts outlive it.
class FrameCommitter {
 public:
  FrameCommitter(SessionState& state, const WriteParts& parts, ChunkEncoding encoding)
      : state_(state),
        backend_(parts.backend),
        overlay_(parts.overlay),
        content_ids_(parts.content_ids),
        counters_(parts.counters),
        flusher_(parts, std::move(encoding)),
        committed_bytes_(
            overlay_.read([](const ChunkOverlay& overlay) { return overlay.nbytes(); })) {}

  // Store chunks without a commit, some of them at a time.
  // Errors: no_space and others of storing; chunks that could not be stored stay dirty.
  // would_wait() if the thread must not wait and storing takes long.
  //
  // A commit that waits for the lock waits for no more than this.
  static constexpr std::uint64_t kFlushedBytes = 8u << 20;
  // Stores dirty chunks of `most_bytes`, but at least one, from the chunk `first` on and before
  // the chunk `end`.  Returns the chunk from which to go on, which is `end` if none is left.
  Result<std::uint64_t> flush(std::uint64_t first, std::uint64_t end,
                              std::uint64_t most_bytes = kFlushedBytes);
  // Stores chunks that were written from end to end.  Returns true if none is left.
  Result<bool> flush_full();

  // Commits everything that was written; durably if asked.
  Status commit(bool durably);

  // The same in two steps, so that the kernel can write the bytes of many frames between them.
  class Commit {
   private:
    friend class FrameCommitter;
    explicit Commit(std::uint64_t number) : number_(number) {}
    std::uint64_t number_;
  };
  // Returns nothing if there is nothing to commit.  No other commit has begun.
  Result<std::optional<Commit>> begin_commit();
  // Syncs this frame and publishes the commit, which is not durable when this returns.  Does
  // nothing if the commit has ended already.
  Status finish_commit(const Commit& commit);
  // A commit that has begun refers to the stored chunks as they are.  To be called, where
  // has_begun(), before chunks are stored or dropped.
  Status finish_begun();
  [[nodiscard]] bool has_begun() const noexcept { return begun_ != 0; }

  // Changes the overlay by a function that returns the entries of the stored chunks that it drops.
  // Errors: EIO if the frame is lost; then nothing is changed.
  Status change_stored(const std::function<std::vector<std::int64_t>(ChunkOverlay&)>& change);
  // Sets the file's time of the last change where no commit follows that would set it.
  void keep_mtime() const;

  // Whether compact(false) might have work.  The answer for a frame of many chunks is `now`,
  // because finding it out is work as well.
  [[nodiscard]] CompactionNeed may_want_compaction();
  // See FrameWriteSession::compact().  Unless `always` is set, the work ends early, with a whole
  // frame, as soon as is_over() returns true.
  Status compact(bool always, const std::function<bool()>& is_over);

  // Runs `remove`, which removes the frame's files.  After it has succeeded, nothing is stored any
  // more.  Errors: those of `remove`.
  Status remove(const std::function<Status()>& remove);
  // Gives up the bytes that could not be committed, and frees the space that they took.  The frame
  // is lost then, unless everything is committed.
  void discard();
  // If everything is committed, frees the space that only readers of older states can still need.
  void release_old_states();

 private:
  Status begin_flush();
  Status prepare();
  Status prepare_to_commit();
  Status commit_stored();
  Status publish(bool durably);
  void end_commit(bool is_committed);
  Status note_stored(Status status);
  Status with_dropped(Status status);
  void restore_mtime() const;
  [[nodiscard]] static CompactionNeed need_of(const FrameBackend::Usage& usage);

  // Constant after construction.
  SessionState& state_;
  FrameBackend& backend_;
  Shared<ChunkOverlay>& overlay_;
  ContentIds& content_ids_;
  CommitCounters& counters_;
  // Changed by commits.
  ChunkFlusher flusher_;
  std::uint64_t committed_bytes_;               // the size of the committed state
  std::uint64_t prepared_bytes_ = 0;            // the size of the prepared state
  std::optional<std::int64_t> committed_only_;  // an entry that is not in the overlay
  bool is_durable_ = false;                     // whether the state published last is durable
  std::uint64_t begun_ = 0;                     // begin_commit() has prepared it; 0: none
  std::uint64_t commits_begun_ = 0;
};

}  // namespace framefs::fs
