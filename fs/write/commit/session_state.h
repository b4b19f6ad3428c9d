#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "fs/core/threads/guarded.h"
#include "fs/read/content_id.h"
#include "fs/write/commit/frame_backend.h"
#include "fs/write/overlay/chunk_overlay.h"
#include "fs/write/ownership/shared_ownership.h"

namespace framefs::fs {

// Whether a filesystem has no room, or the user may have no more of it.
bool is_no_space(const Error& error) noexcept;

// Whether the frame of a write session can still be committed, whether it has to be, and whether
// this process owns it.
//
// Invariant: once a loss of the frame is noted, the overlay holds no bytes that wait for a commit,
// and the frame is owned only as long as a Change lives.
//
// Threads: any number.  Lifetime: backend and overlay outlive it.
class SessionState final : private SharedOwnership::Frame {
 public:
  SessionState(FrameBackend& backend, Shared<ChunkOverlay>& overlay, ContentIds& content_ids,
               std::unique_ptr<FrameOwnership> ownership)
      : backend_(backend),
        overlay_(overlay),
        content_ids_(content_ids),
        id_(content_ids.next().value),
        ownership_(*this, std::move(ownership)) {}

  // See FrameWriteSession::id().
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

  [[nodiscard]] SharedOwnership& ownership() noexcept { return ownership_; }
  [[nodiscard]] const SharedOwnership& ownership() const noexcept { return ownership_; }

  // Whether there are changes that are neither committed nor part of the commit under way.
  [[nodiscard]] bool is_changed() const;
  // The same, and true also while a commit of all changes is under way.
  [[nodiscard]] bool has_uncommitted() const;
  // See FrameBackend::is_lost().
  [[nodiscard]] bool is_lost() const noexcept { return backend_.is_lost(); }
  [[nodiscard]] bool is_superseded() const override {
    return is_lost() && !has_uncommitted() && !backend_.is_lost_by_sync();
  }

  // Whether the frame is still the one that the session has opened or committed.  Notes a loss.
  // Errors: EIO for a change; system.  A removed frame has no errors.
  Status check() override;
  // Whether check() would find nothing to note.  Waits for no lock of the session.
  [[nodiscard]] bool is_current();
  // Notes the loss of the frame if there was one.  Returns `status`.  To be called after each
  // failure that may be a loss.
  Status note_lost(Status status);
  // To be called with the result of a store or a commit.  Damage of the stored frame would let each
  // further commit fail in the same way, and the written bytes would take memory for ever: the
  // frame is lost.  Returns `status`, as no_space also where a quota is used up: with --writeback,
  // the kernel knows ENOSPC, and makes EIO of EDQUOT.
  Status note_stored(Status status);
  // Whether the last store or commit has failed because SOURCE was full.  Only a commit that
  // succeeds ends that: a store may find room that the commit does not.
  [[nodiscard]] bool is_out_of_space() const noexcept { return is_out_of_space_; }
  // To be called with true when bytes of a damaged chunk were dropped, and with false when a sync
  // has reported it.
  void set_dropped(bool has_dropped) noexcept { has_dropped_ = has_dropped; }
  [[nodiscard]] bool has_dropped() const noexcept { return has_dropped_; }
  // To be called with the counter of the frame's lock file, by a thread that has locked it.  If
  // another program has changed the frame since, the frame is lost.
  void note_counter(const LockCounter& counter);

  // To be called when written bytes were committed.
  void note_committed() noexcept {
    is_out_of_space_ = false;
    if (backend_.is_orphan()) has_unnamed_bytes_ = true;
  }
  // Errors: EIO if written bytes are in a file that another program has removed or replaced.
  [[nodiscard]] Status check_all_named() const {
    return has_unnamed_bytes_ || has_uncommitted() ? backend_.check_named() : Status();
  }

  // Whether the files of the frame were removed: nothing is stored any more.
  [[nodiscard]] bool is_removed() const noexcept { return is_removed_; }
  // To be called by the holder of the commit lock.
  void set_removed() noexcept { is_removed_ = true; }

 private:
  void forget_old_bytes();
  [[nodiscard]] Status check_usable() const override { return backend_.check_usable(); }
  Status begin_writing() override { return note_lost(backend_.begin_writing()); }
  void give_up() noexcept override { backend_.give_up(); }
  [[nodiscard]] bool needs_owner() const override {
    return !is_lost() && !is_removed() && has_uncommitted();
  }

  // Constant after construction.
  FrameBackend& backend_;
  Shared<ChunkOverlay>& overlay_;
  ContentIds& content_ids_;
  // Self-synchronised.
  std::atomic<std::uint64_t> id_;
  std::atomic<std::uint64_t> touches_{0};  // that forget_old_bytes() knows
  std::atomic<bool> is_removed_{false};
  std::atomic<bool> has_unnamed_bytes_{false};
  std::atomic<bool> has_dropped_{false};
  std::atomic<bool> is_out_of_space_{false};
  SharedOwnership ownership_;
};

}  // namespace framefs::fs
