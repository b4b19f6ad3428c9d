#include "fs/write/ownership/frame_ownership.h"

#include <algorithm>
#include <utility>

namespace framefs::fs {

using Clock = std::chrono::steady_clock;

Status FrameOwnership::own_lock_file(std::chrono::milliseconds patience) {
  FRAMEFS_CHECK(lock_file_.own(patience));
  auto now = lock_file_.counter();
  if (lock_file_.is_held()) {
    if (tells_change(now)) is_overtaken_ = true;
    ++now.value;
  }
  note(std::move(now));
  return {};
}

bool FrameOwnership::tells_change(const LockCounter& counter) const {
  return known_.with([&](const std::optional<LockCounter>& known) {
    return known ? counter.tells_change_since(*known) : counter.value != 0;
  });
}

void FrameOwnership::note(LockCounter counter) {
  known_.with([&](std::optional<LockCounter>& known) { known = std::move(counter); });
}

Status FrameOwnership::take(std::chrono::milliseconds patience) {
  if (is_held()) return {};
  const auto end = Clock::now() + patience;
  is_overtaken_ = false;
  const bool is_first = frame_.is_new && !std::exchange(was_taken_, true);
  if (!is_first || !frame_lock_.try_take()) FRAMEFS_CHECK(frame_lock_.take(patience));
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  auto owned = own_lock_file(std::max(left, std::chrono::milliseconds(0)));
  if (!owned) frame_lock_.release();
  return owned;
}

Status FrameOwnership::take_new_lock_file(std::chrono::milliseconds patience) {
  if (lock_file_.is_held()) return {};
  return own_lock_file(patience);
}

void FrameOwnership::release() noexcept {
  lock_file_.release();
  frame_lock_.release();
}

}  // namespace framefs::fs
