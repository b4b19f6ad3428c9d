#include "fs/write/commit/serial_committer.h"

#include <cerrno>
#include <limits>

#include "fs/core/threads/interrupt.h"
#include "fs/core/threads/may_wait.h"

namespace framefs::fs {

SerialCommitter::Access SerialCommitter::take() {
  auto access = take_beside_begun();
  static_cast<void>(access->finish_begun());
  return access;
}

SerialCommitter::Access SerialCommitter::take_promptly() {
  if (may_wait()) return take();
  Access access(lock_.try_take(), committer_);
  if (access && access->has_begun()) access.release();
  return access;
}

Status SerialCommitter::flush(std::uint64_t count) {
  std::uint64_t next = 0;
  while (next < count) {
    if (next > 0 && interrupted()) return system_error_of(EINTR, "write");
    const auto access = take_promptly();
    if (!access) return would_wait();
    FRAMEFS_TRY(next, access->flush(next, count));
  }
  return {};
}

Result<bool> SerialCommitter::flush_full() {
  const auto access = take_promptly();
  if (!access) return std::unexpected(would_wait().error());
  return access->flush_full();
}

Status SerialCommitter::make_room(std::uint64_t bytes, const std::function<bool()>& has_room) {
  constexpr auto kEnd = std::numeric_limits<std::uint64_t>::max();
  const auto is_over = [&] { return has_room() || interrupted(); };
  // The stores of another thread make room as well.
  while (!is_over()) {
    const Access access(lock_.take_unless(is_over), committer_);
    if (!access) break;
    static_cast<void>(access->finish_begun());
    FRAMEFS_TRY(const auto next, access->flush(0, kEnd, bytes));
    if (next == kEnd) return {};
  }
  return interrupted() ? system_error_of(EINTR, "write") : Status{};
}

Result<std::optional<SerialCommitter::Commit>> SerialCommitter::begin_commit() {
  const auto access = take_promptly();
  if (!access) return std::unexpected(would_wait().error());
  return access->begin_commit();
}

Status SerialCommitter::change_stored(
    const std::function<std::vector<std::int64_t>(ChunkOverlay&)>& change) {
  const auto access = take_promptly();
  if (!access) return would_wait();
  return access->change_stored(change);
}

Status SerialCommitter::alone(const std::function<Status()>& change) {
  const auto access = take_promptly();
  return access ? change() : would_wait();
}

Result<CompactionNeed> SerialCommitter::may_want_compaction() {
  const auto access = take_promptly();
  if (!access) return std::unexpected(would_wait().error());
  return access->may_want_compaction();
}

Status SerialCommitter::compact(bool always, const std::function<bool()>& is_over) {
  return take()->compact(always, [&] { return lock_.is_wanted() || is_over(); });
}

bool SerialCommitter::release_old_states() {
  const auto access = take_promptly();
  if (!access) return would_wait().has_value();
  access->release_old_states();
  return true;
}

}  // namespace framefs::fs
