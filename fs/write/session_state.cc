#include "fs/write/session_state.h"

#include "fs/core/error_map.h"

namespace framefs::fs {

bool SessionState::is_changed() const {
  return overlay_.read([](const ChunkOverlay& overlay) { return overlay.is_changed(); });
}

bool SessionState::has_uncommitted() const {
  return overlay_.read([](const ChunkOverlay& overlay) { return !overlay.is_committed(); });
}

Status SessionState::check() {
  if (is_removed_) return {};
  return note_lost(backend_.check_unchanged());
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
  return note_lost(status);
}

void SessionState::note_counter(std::uint64_t counter) {
  if (!ownership_.is_overtaken(counter)) return;
  backend_.give_up();
  static_cast<void>(note_lost({}));
}

}  // namespace framefs::fs
