#include <cerrno>

#include "fs/core/interrupt.h"
#include "fs/core/may_wait.h"
#include "fs/write/frame_write_session.h"

namespace framefs::fs {

// After the loss of a session its bytes cannot be committed any more, so their memory is freed.
Status FrameWriteSession::note_lost(Status status) {
  if (!is_lost()) return status;
  overlay_.write([](ChunkOverlay& overlay) { overlay.abandon(); });
  release_ownership();
  return status;
}

bool FrameWriteSession::has_uncommitted() const {
  return overlay_.read([](const ChunkOverlay& overlay) { return !overlay.is_committed(); });
}

Status FrameWriteSession::check() {
  if (is_removed_) return {};
  return note_lost(backend_->check_unchanged());
}

Result<FrameWriteSession::Change> FrameWriteSession::begin_change(
    std::chrono::milliseconds patience) {
  const auto join = [](Ownership& now) {
    if (!now.is_owned) return false;
    ++now.changers;
    ++now.changes;
    return true;
  };
  FRAMEFS_CHECK(backend_->check_usable());
  if (ownership_.with(join)) return Change(*this);
  const auto hold = may_wait() ? owning_.take_unless(interrupted) : owning_.try_take();
  if (!hold && !may_wait()) return std::unexpected(would_wait().error());
  if (!hold) return system_error_of(EINTR, "lock");
  if (ownership_.with(join)) return Change(*this);
  if (!may_wait()) patience = std::chrono::milliseconds(0);
  if (const auto taken = lock_.take(patience); !taken) {
    if (!may_wait() && taken.error().sys == EBUSY) return std::unexpected(would_wait().error());
    if (taken.error().sys != EINTR) services_.reads.log.failure(name(), taken.error());
    return std::unexpected(taken.error());
  }
  // While another process owned the frame, that process may have changed it.
  if (const auto checked = check(); !checked) {
    lock_.release();
    return std::unexpected(checked.error());
  }
  ownership_.with([&](Ownership& now) {
    now.is_owned = true;
    join(now);
  });
  return Change(*this);
}

void FrameWriteSession::end_change() noexcept {
  const bool is_last = ownership_.with([](Ownership& now) { return --now.changers == 0; });
  if (is_last) release_ownership();
}

// Releases the ownership if nothing is left to be committed.
void FrameWriteSession::release_ownership() noexcept {
  const auto changes = ownership_.with([](const Ownership& now) { return now.changes; });
  if (!is_lost() && !is_removed_ && has_uncommitted()) return;
  ownership_.with([&](Ownership& now) {
    if (!now.is_owned || now.changers > 0 || now.changes != changes) return;
    lock_.release();
    now.is_owned = false;
  });
}

}  // namespace framefs::fs
