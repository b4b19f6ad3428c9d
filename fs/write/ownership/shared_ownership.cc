#include "fs/write/ownership/shared_ownership.h"

#include <cerrno>

#include "fs/core/threads/interrupt.h"
#include "fs/core/threads/may_wait.h"

namespace framefs::fs {

// While another program owned the frame, that program may have changed it.
// Errors: EIO for such a change; this process then owns the frame nevertheless.
Status SharedOwnership::take(std::chrono::milliseconds patience) {
  if (!ownership_) return frame_.check_usable();
  FRAMEFS_CHECK(ownership_->take(patience));
  if (ownership_->is_overtaken()) frame_.give_up();
  FRAMEFS_CHECK(frame_.check());
  return frame_.begin_writing();
}

std::optional<SharedOwnership::Change> SharedOwnership::join_change() {
  const bool is_owned = state_.with([](State& now) {
    if (!now.is_owned) return false;
    ++now.changers;
    ++now.changes;
    return true;
  });
  return is_owned ? std::optional(Change(*this)) : std::nullopt;
}

// The ownership that was just taken, for the session that takes the place of this one.
std::unique_ptr<FrameOwnership> SharedOwnership::give_away() {
  return state_.with([&](State&) {
    if (ownership_) ownership_->forget_change();
    return std::move(ownership_);
  });
}

Result<SharedOwnership::Change> SharedOwnership::begin_change(
    std::chrono::milliseconds patience, std::unique_ptr<FrameOwnership>* successor) {
  FRAMEFS_CHECK(frame_.check_usable());
  if (auto joined = join_change()) return std::move(*joined);
  const auto hold = may_wait() ? taking_.take_unless(interrupted) : taking_.try_take();
  if (!hold && !may_wait()) return std::unexpected(would_wait().error());
  if (!hold) return system_error_of(EINTR, "lock");
  if (auto joined = join_change()) return std::move(*joined);
  if (!may_wait()) patience = std::chrono::milliseconds(0);
  if (const auto taken = take(patience); !taken) {
    if (ownership_ && successor != nullptr && frame_.is_superseded()) {
      *successor = give_away();
    }
    if (ownership_) ownership_->release();
    if (!may_wait() && taken.error().sys == EBUSY) return std::unexpected(would_wait().error());
    return std::unexpected(taken.error());
  }
  state_.with([](State& now) {
    now.is_owned = true;
    ++now.changers;
    ++now.changes;
  });
  return Change(*this);
}

bool SharedOwnership::is_owned() const {
  return state_.with([](const State& now) { return now.is_owned; });
}

bool SharedOwnership::is_overtaken(const LockCounter& counter) const {
  return state_.with([&](const State& now) {
    return !now.is_owned && ownership_ && ownership_->tells_change(counter);
  });
}

Status SharedOwnership::take_new_lock_file() {
  // The threads that commit serve other frames as well.
  constexpr std::chrono::milliseconds kShortPatience{1000};
  const auto change = join_change();  // no other thread releases the ownership meanwhile
  if (!change) return {};
  auto taken =
      ownership_->take_new_lock_file(may_wait() ? kShortPatience : std::chrono::milliseconds(0));
  if (!taken && !may_wait() && taken.error().sys == EBUSY) taken = would_wait();
  FRAMEFS_CHECK(taken);
  if (ownership_->is_overtaken()) frame_.give_up();
  return frame_.check_usable();
}

void SharedOwnership::end_change() noexcept {
  const bool is_last = state_.with([](State& now) { return --now.changers == 0; });
  if (is_last) release_unneeded();
}

// A change that begins after the first step may write bytes that frame_.needs_owner() did not see.
void SharedOwnership::release_unneeded() noexcept {
  const auto changes = state_.with([](const State& now) { return now.changes; });
  if (frame_.needs_owner()) return;
  state_.with([&](State& now) {
    if (!now.is_owned || now.changers > 0 || now.changes != changes) return;
    ownership_->release();
    now.is_owned = false;
  });
}

}  // namespace framefs::fs
