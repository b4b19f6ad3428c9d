#include "fs/write/write_sessions.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "fs/write/session_commits.h"

namespace framefs::fs {

WriteSessions::WriteSessions(Log& log, OverlayBudget& overlay, WriteSessionTable& table,
                             std::chrono::milliseconds commit_interval)
    : log_(log), overlay_(overlay), table_(table), threads_(log, overlay, table, commit_interval) {}

Result<WriteSessions::Session> WriteSessions::open(const FileKey& key,
                                                   const WriteSessionTable::Make& make) {
  return table_.open(key, with_threads(make));
}

Result<WriteSessions::Session> WriteSessions::renew(const FileKey& key, const Session& lost,
                                                    const WriteSessionTable::Make& make) {
  return table_.renew(key, lost, with_threads(make));
}

WriteSessionTable::Make WriteSessions::with_threads(const WriteSessionTable::Make& make) {
  return [&]() -> Result<Session> {
    FRAMEFS_CHECK(threads_.start());
    return make();
  };
}

void WriteSessions::close(const FileKey& key, const Session& session) {
  if (!table_.close(key, session)) return;
  overlay_.note_index_room();
  threads_.note_closed(key);
}

Status WriteSessions::make_room(FrameWriteSession& session, std::uint64_t needed,
                                Retries& retries) {
  const auto has_room = [&] { return session.has_room(needed); };
  // The bytes of this session come first: a writer of many bytes pays for them.
  FRAMEFS_CHECK(session.make_room(needed, has_room));
  // Then those of the others, the frames with the most bytes first.
  std::vector<std::pair<std::uint64_t, Session>> others;
  for (auto& [key, other] : table_.all()) {
    const auto used = other->used_bytes();
    if (used > 0) others.emplace_back(used, std::move(other));
  }
  std::ranges::sort(others, std::ranges::greater{}, [](const auto& other) { return other.first; });
  Status status;
  std::uint64_t removed_bytes = 0;
  for (const auto& [used, other] : others) {
    if (has_room()) return {};
    if (const auto stored = other->make_room(needed, has_room); !stored) status = stored;
    if (other->is_removed()) removed_bytes += used;
  }
  if (has_room()) return {};
  FRAMEFS_CHECK(status);
  // Other writers have used the room that was made.  The bytes of removed frames never make room.
  if (removed_bytes > 0 && (session.is_removed() || !retries.are_left())) {
    return codec::fail(codec::Errc::no_space, "overlay of a removed frame");
  }
  return {};
}

// Commits the files that no program has open for writing, and ends their sessions.
void WriteSessions::end_closed() {
  for (const auto& [key, session] : table_.all()) {
    if (!table_.closed_at(key)) continue;
    // Also waits for the commit of another thread, after which nothing is changed.
    if (session->has_uncommitted()) commit_alone(log_, *session);
    table_.end(key);
  }
}

// A frame whose sync has failed has lost bytes.
void WriteSessions::commit_and_note_losses(const std::vector<WriteSessionTable::File>& files) {
  for (const auto& name : commit_durably(log_, files)) table_.add_loss(name);
}

Losses WriteSessions::commit_all() {
  const auto files = table_.named();
  commit_and_note_losses(files);
  auto lost = table_.losses();
  for (const auto& [key, session] : files) {
    // A writer may go on writing: only what fails counts.
    const auto fails = [&] { return session->is_changed() && !session->commit(false); };
    if (session->has_lost_bytes() || session->is_out_of_space() || fails()) {
      lost.add(session->name());
    }
  }
  return lost;
}

std::vector<FileKey> WriteSessions::finish() {
  threads_.stop();
  const auto files = table_.named();
  commit_and_note_losses(files);
  std::vector<FileKey> committed;
  for (const auto& [key, session] : files) {
    if (session->has_uncommitted() || session->has_lost_bytes()) {
      log_.warn(session->name() + ": the latest writes are lost");
      table_.add_loss(session->name());
      session->discard();
    } else {
      committed.push_back(key);
    }
  }
  table_.clear();
  return committed;
}

}  // namespace framefs::fs
