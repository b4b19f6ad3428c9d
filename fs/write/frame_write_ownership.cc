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

// While another program owned the frame, that program may have changed it.
// Errors: EIO for such a change; this process then owns the frame nevertheless.
Status FrameWriteSession::take_ownership(std::chrono::milliseconds patience) {
  if (!lock_) return backend_->check_usable();
  FRAMEFS_CHECK(lock_->take(patience));
  if (lock_->is_overtaken()) backend_->give_up();
  return check();
}

std::optional<FrameWriteSession::Change> FrameWriteSession::join_change() {
  const bool is_owned = ownership_.with([](Ownership& now) {
    if (!now.is_owned) return false;
    ++now.changers;
    ++now.changes;
    return true;
  });
  return is_owned ? std::optional(Change(*this)) : std::nullopt;
}

// The ownership that was just taken, for the session that takes the place of this one.
std::unique_ptr<FrameOwnership> FrameWriteSession::give_away_ownership() {
  return ownership_.with([&](Ownership&) {
    if (lock_) lock_->forget_change();
    return std::move(lock_);
  });
}

Result<FrameWriteSession::Change> FrameWriteSession::begin_change(
    std::chrono::milliseconds patience, std::unique_ptr<FrameOwnership>* successor) {
  auto begun = try_begin_change(patience, successor);
  const bool is_over = begun.has_value() || is_lost() || has_refused_to_wait();
  if (!is_over && begun.error().sys != EINTR) services_.reads.log.failure(name(), begun.error());
  return begun;
}

Result<FrameWriteSession::Change> FrameWriteSession::try_begin_change(
    std::chrono::milliseconds patience, std::unique_ptr<FrameOwnership>* successor) {
  FRAMEFS_CHECK(backend_->check_usable());
  if (auto joined = join_change()) return std::move(*joined);
  const auto hold = may_wait() ? owning_.take_unless(interrupted) : owning_.try_take();
  if (!hold && !may_wait()) return std::unexpected(would_wait().error());
  if (!hold) return system_error_of(EINTR, "lock");
  if (auto joined = join_change()) return std::move(*joined);
  if (!may_wait()) patience = std::chrono::milliseconds(0);
  if (const auto taken = take_ownership(patience); !taken) {
    if (lock_ && successor != nullptr && is_lost() && !has_lost_bytes()) {
      *successor = give_away_ownership();
    }
    if (lock_) lock_->release();
    if (!may_wait() && taken.error().sys == EBUSY) return std::unexpected(would_wait().error());
    return std::unexpected(taken.error());
  }
  ownership_.with([](Ownership& now) {
    now.is_owned = true;
    ++now.changers;
    ++now.changes;
  });
  return Change(*this);
}

bool FrameWriteSession::is_owned() const {
  return ownership_.with([](const Ownership& now) { return now.is_owned; });
}

void FrameWriteSession::note_counter(std::uint64_t counter) {
  const bool is_overtaken = ownership_.with([&](const Ownership& now) {
    return !now.is_owned && lock_ && lock_->known_counter() != counter;
  });
  if (!is_overtaken) return;
  backend_->give_up();
  static_cast<void>(note_lost({}));
}

// A program may have created the lock file after this process took the ownership.
Status FrameWriteSession::take_new_lock_file() {
  // The threads that commit serve other frames as well.
  constexpr std::chrono::milliseconds kShortPatience{1000};
  const auto change = join_change();  // no other thread releases the ownership meanwhile
  if (!change) return {};
  auto taken =
      lock_->take_new_lock_file(may_wait() ? kShortPatience : std::chrono::milliseconds(0));
  if (!taken && !may_wait() && taken.error().sys == EBUSY) taken = would_wait();
  FRAMEFS_CHECK(taken);
  if (lock_->is_overtaken()) backend_->give_up();
  return backend_->check_usable();
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
    lock_->release();
    now.is_owned = false;
  });
}

}  // namespace framefs::fs
