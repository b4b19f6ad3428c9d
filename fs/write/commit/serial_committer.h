#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "fs/write/commit/frame_committer.h"
#include "fs/write/ownership/session_lock.h"

namespace framefs::fs {

// The FrameCommitter of a session, for any number of threads.
//
// Invariant: one thread at a time uses the committer; it holds the commit lock.  Threads get the
// lock in the order in which they asked.
//
// No lock is held between the two steps of a commit.  A thread that wants to store, commit or drop
// chunks meanwhile does not wait for the other step: it first finishes the commit by a sync of this
// frame alone.
//
// See FrameCommitter and FrameWriteSession for the members, also for those that end with
// would_wait().
// Threads: any number.
class SerialCommitter {
 public:
  SerialCommitter(SessionState& state, const WriteParts& parts, ChunkEncoding encoding)
      : committer_(state, parts, std::move(encoding)) {}

  // One pass over the first `count` chunks.  Others get their turns between its parts.
  // Errors: also EINTR where the caller is interrupted.
  Status flush(std::uint64_t count);
  Result<bool> flush_full();
  // Errors: also EINTR.
  Status make_room(std::uint64_t bytes, const std::function<bool()>& has_room);

  using Commit = FrameCommitter::Commit;
  Status commit(bool durably) { return take()->commit(durably); }
  Result<std::optional<Commit>> begin_commit();
  Status finish_commit(const Commit& commit) { return take_beside_begun()->finish_commit(commit); }

  // For a change that drops stored chunks: no commit that has these chunks is then under way.
  Status change_stored(const std::function<std::vector<std::int64_t>(ChunkOverlay&)>& change);
  void keep_mtime() { take_beside_begun()->keep_mtime(); }
  // Runs `change` while nothing is stored and no commit has begun.
  Status alone(const std::function<Status()>& change);

  [[nodiscard]] Result<CompactionNeed> may_want_compaction();
  // Unless `always` is set, the work also ends early if another thread waits for the commit lock.
  Status compact(bool always, const std::function<bool()>& is_over);

  Status remove(const std::function<Status()>& remove) {
    return take_beside_begun()->remove(remove);
  }
  void discard() { take()->discard(); }
  // Returns false, and does nothing, where the thread must not wait and would have to.
  bool release_old_states();

 private:
  // The use of the committer by one thread.
  class Access {
   public:
    Access(SessionLock::Hold hold, FrameCommitter& committer)
        : hold_(std::move(hold)), committer_(committer) {}
    explicit operator bool() const noexcept { return static_cast<bool>(hold_); }
    FrameCommitter* operator->() const noexcept { return hold_ ? &committer_ : nullptr; }
    void release() noexcept { hold_.release(); }

   private:
    SessionLock::Hold hold_;
    FrameCommitter& committer_;
  };
  // Waits for the commit lock, and finishes a commit that has begun.  An error of that commit is
  // not the caller's: a lost frame reports it, and otherwise the next commit includes the bytes
  // that this one could not publish.
  [[nodiscard]] Access take();
  // The same for a thread that must not wait: if the thread would have to, the result is false.
  [[nodiscard]] Access take_promptly();
  // As take(), but a commit that has begun goes on.  For work that neither stores nor drops chunks.
  [[nodiscard]] Access take_beside_begun() { return {lock_.take(), committer_}; }

  SessionLock lock_;
  FrameCommitter committer_;  // guarded by `lock_`
};

}  // namespace framefs::fs
