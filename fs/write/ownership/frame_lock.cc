#include "fs/write/ownership/frame_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "fs/core/diagnostics/lock_holder.h"
#include "fs/core/threads/interrupt.h"

namespace framefs::fs {
namespace {

// The owner locks the first byte.  The next owner locks the second one while it waits.  An owner
// that releases the ownership and wants it again queues behind the next owner.
constexpr std::int64_t kOwnerAt = std::int64_t{1} << 62;
constexpr std::int64_t kNextAt = kOwnerAt + 1;

constexpr const char* kFrameBusy = "another framefs process is writing to the frame";

struct flock one_byte(std::int64_t at, int type) {
  struct flock lock{};
  lock.l_type = static_cast<short>(type);
  lock.l_whence = SEEK_SET;
  lock.l_start = at;
  lock.l_len = 1;
  return lock;
}

}  // namespace

FrameLock::Attempt FrameLock::try_lock(std::int64_t at, int type) const {
  int done = 0;
  if (is_flock_) {
    if (at != kOwnerAt) return Attempt::taken;
    done = ::flock(fd_, (type == F_UNLCK ? LOCK_UN : LOCK_EX) | LOCK_NB);
  } else {
    auto lock = one_byte(at, type);
    done = ::fcntl(fd_, F_OFD_SETLK, &lock);
  }
  if (done == 0) return Attempt::taken;
  const bool is_busy = errno == EAGAIN || errno == EACCES || errno == EINTR;
  return is_busy ? Attempt::busy : Attempt::unsupported;
}

Status FrameLock::wait_for(std::int64_t at, std::chrono::steady_clock::time_point end) {
  for (auto pause = kFirstLockPause;; pause = std::min(pause * 2, kLongestLockPause)) {
    if (try_lock(at, F_WRLCK) != Attempt::busy) return {};
    if (interrupted()) return system_error_of(EINTR, "lock");
    if (std::chrono::steady_clock::now() >= end) return system_error_of(EBUSY, kFrameBusy);
    std::this_thread::sleep_for(pause);
  }
}

Status FrameLock::take(std::chrono::milliseconds patience) {
  if (is_held_) return {};
  const auto end = std::chrono::steady_clock::now() + patience;
  auto taken = wait_for(kNextAt, end);
  if (taken) {
    taken = wait_for(kOwnerAt, end);
    static_cast<void>(try_lock(kNextAt, F_UNLCK));
  }
  is_held_ = taken.has_value();
  // A caller that does not wait asks again.
  if (!taken && taken.error().sys == EBUSY && patience.count() > 0) {
    return lock_error(kFrameBusy, fd_,
                      is_flock_ ? std::nullopt : std::optional<std::uint64_t>(kOwnerAt));
  }
  return taken;
}

bool FrameLock::try_take() {
  if (!is_held_) is_held_ = try_lock(kOwnerAt, F_WRLCK) == Attempt::taken;
  return is_held_;
}

void FrameLock::release() noexcept {
  if (!is_held_) return;
  is_held_ = false;
  static_cast<void>(try_lock(kOwnerAt, F_UNLCK));
}

}  // namespace framefs::fs
