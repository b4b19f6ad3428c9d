#include "fs/write/commit/session_state.h"

#include <cerrno>
#include <utility>

#include "fs/core/diagnostics/error_map.h"

namespace framefs::fs {

bool is_no_space(const Error& error) noexcept {
  const auto number = errno_of(error);
  return number == ENOSPC || number == EDQUOT;
}

bool SessionState::is_changed() const {
  return overlay_.read([](const ChunkOverlay& overlay) { return overlay.is_changed(); });
}

bool SessionState::has_uncommitted() const {
  return overlay_.read([](const ChunkOverlay& overlay) { return !overlay.is_committed(); });
}

Status SessionState::check() {
  if (is_removed_) return {};
  auto status = backend_.check_unchanged();
  if (status) forget_old_bytes();
  return note_lost(std::move(status));
}

bool SessionState::is_current() {
  return is_removed_ ||
         (backend_.check_unchanged() && backend_.touches() == touches_ && !is_lost());
}

// Another program may have changed bytes of chunks that are in memory: in the cache, and in the
// kernel's pages, which go by the id of the session.
void SessionState::forget_old_bytes() {
  const auto touches = backend_.touches();
  if (touches == touches_) return;
  const auto st = backend_.content_stat();
  overlay_.write([&](ChunkOverlay& overlay) {
    overlay.renew_ids(content_ids_.next());
    if (st && overlay.is_committed()) overlay.mtime = st->st_mtim;
  });
  id_ = content_ids_.next().value;
  touches_ = touches;
}

// After the loss of a session its bytes cannot be committed any more, so their memory is freed.
Status SessionState::note_lost(Status status) {
  if (!is_lost()) return status;
  overlay_.write([](ChunkOverlay& overlay) { overlay.abandon(); });
  ownership_.release_unneeded();
  return status;
}

Status SessionState::note_stored(Status status) {
  if (!status && is_damage(status.error())) backend_.give_up();
  if (!status && is_no_space(status.error())) {
    is_out_of_space_ = true;
    status.error().kind = Errc::no_space;
  }
  return note_lost(std::move(status));
}

void SessionState::note_counter(const LockCounter& counter) {
  if (!ownership_.is_overtaken(counter)) return;
  backend_.give_up();
  static_cast<void>(note_lost({}));
}

}  // namespace framefs::fs
