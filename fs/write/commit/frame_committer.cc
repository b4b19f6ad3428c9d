#include "fs/write/commit/frame_committer.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <utility>

#include "fs/core/threads/may_wait.h"

namespace framefs::fs {
namespace {

// Less dead space is not worth a compaction, which takes several syncs.
constexpr std::uint64_t kMinCompactedBytes = 64u << 10;
// A frame with less dead space is compacted only when it is not being written for a while: a
// program that appends a line at a time, with an open and a close for each, rewrites the last chunk
// again and again.
constexpr std::uint64_t kMinPromptlyCompacted = 1u << 20;
// A thread that must not wait stores no more than this.
constexpr std::uint64_t kPromptBytes = 256u << 10;

}  // namespace

void FrameCommitter::end_commit(bool is_committed) {
  overlay_.write([&](ChunkOverlay& overlay) { overlay.end_commit(is_committed); });
  state_.ownership().release_unneeded();
  if (is_committed) {
    state_.note_committed();
    counters_.done.add();
  } else if (!state_.is_removed()) {
    counters_.failed.add();
  }
}

// The file shows the time of the write, not the time at which the bytes were stored.  A process
// that may write to the file is not always allowed to set its times.  That error is ignored,
// because the commit matters more.
void FrameCommitter::restore_mtime() const {
  overlay_.read([&](const ChunkOverlay& overlay) {
    const std::array<timespec, 2> times{timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                                        overlay.mtime};
    static_cast<void>(::futimens(backend_.content_fd(), times.data()));
    backend_.note_times();
  });
}

// If only the time has changed, no commit follows that would set it.
void FrameCommitter::keep_mtime() const {
  if (!state_.is_changed() && !state_.is_removed()) restore_mtime();
}

Status FrameCommitter::begin_flush() {
  const auto used = overlay_.read([](const ChunkOverlay& overlay) { return overlay.used_bytes(); });
  if (!may_wait() && used > kPromptBytes) return would_wait();
  FRAMEFS_CHECK(backend_.check_usable());
  return state_.note_lost(state_.ownership().take_new_lock_file());
}

Result<std::uint64_t> FrameCommitter::flush(std::uint64_t first, std::uint64_t end,
                                            std::uint64_t most_bytes) {
  if (state_.is_removed()) return end;
  FRAMEFS_CHECK(begin_flush());
  auto frozen =
      overlay_.write([&](ChunkOverlay& overlay) { return overlay.freeze(first, end, most_bytes); });
  if (frozen.empty()) return end;
  const auto next = frozen.back().chunk + 1;
  FRAMEFS_CHECK(note_stored(flusher_.store(std::move(frozen))));
  return next;
}

Result<bool> FrameCommitter::flush_full() {
  if (state_.is_removed()) return true;
  FRAMEFS_CHECK(begin_flush());
  auto frozen =
      overlay_.write([&](ChunkOverlay& overlay) { return overlay.freeze_full(kFlushedBytes); });
  if (frozen.empty()) return true;
  FRAMEFS_CHECK(note_stored(flusher_.store(std::move(frozen))));
  return overlay_.read([](const ChunkOverlay& overlay) { return !overlay.has_full_chunks(); });
}

Status FrameCommitter::prepare() {
  struct Snapshot {
    std::vector<ChunkOverlay::Frozen> frozen;
    std::uint64_t nbytes = 0;
    std::uint64_t chunk_count = 0;
    std::vector<codec::NamedContent> vlmetalayers;
  };
  auto snapshot = overlay_.write([](ChunkOverlay& overlay) {
    overlay.begin_commit();
    return Snapshot{
        overlay.freeze(0, overlay.chunk_count(), std::numeric_limits<std::uint64_t>::max()),
        overlay.nbytes(), overlay.chunk_count(), overlay.vlmetalayers};
  });
  FRAMEFS_CHECK(flusher_.store(std::move(snapshot.frozen)));
  FRAMEFS_CHECK(flusher_.store_truncated_zeros(snapshot.chunk_count, snapshot.nbytes));
  // Only this object changes entries, but writers may have appended more of them.
  const auto all = overlay_.read([](const ChunkOverlay& overlay) { return overlay.entries(); });
  auto entries = all.entries().first(snapshot.chunk_count);
  std::vector<std::int64_t> with_last_zeros;
  if (committed_only_) backend_.drop(*committed_only_);
  committed_only_.reset();
  if (!entries.empty()) {
    FRAMEFS_TRY(committed_only_, flusher_.store_last_zeros(snapshot.nbytes, entries.back()));
  }
  if (committed_only_) {
    with_last_zeros.assign(entries.begin(), entries.end());
    with_last_zeros.back() = *committed_only_;
    entries = with_last_zeros;
  }
  prepared_bytes_ = snapshot.nbytes;
  return backend_.prepare({snapshot.nbytes, entries, snapshot.vlmetalayers});
}

// SOURCE is full.  Commits the bytes up to the first chunk that could not be stored, if the only
// change since the last commit is that the frame has grown.  The bytes behind stay in the overlay.
Status FrameCommitter::commit_stored() {
  struct Stored {
    std::uint64_t first_changed = 0;
    std::uint64_t count = 0;  // of whole chunks
    std::uint64_t nbytes = 0;
    std::vector<codec::NamedContent> vlmetalayers;
  };
  const auto stored = overlay_.read([](const ChunkOverlay& overlay) {
    const auto count = std::min(overlay.stored_chunks(), overlay.nbytes() / overlay.chunksize());
    return Stored{overlay.first_committing(), count, count * overlay.chunksize(),
                  overlay.vlmetalayers};
  });
  if (stored.first_changed < committed_bytes_ || stored.nbytes <= committed_bytes_) return {};
  FRAMEFS_CHECK(flusher_.store_truncated_zeros(stored.count, stored.nbytes));
  const auto all = overlay_.read([](const ChunkOverlay& overlay) { return overlay.entries(); });
  prepared_bytes_ = stored.nbytes;
  FRAMEFS_CHECK(
      backend_.prepare({stored.nbytes, all.entries().first(stored.count), stored.vlmetalayers}));
  FRAMEFS_CHECK(backend_.sync());
  FRAMEFS_CHECK(publish(true));
  overlay_.write([&](ChunkOverlay& overlay) { overlay.note_committed_part(stored.nbytes); });
  return {};
}

// Prepares all changes.  If SOURCE is full, the chunks that have room are committed.
Status FrameCommitter::prepare_to_commit() {
  FRAMEFS_CHECK(state_.ownership().take_new_lock_file());
  auto prepared = prepare();
  if (!prepared && is_no_space(prepared.error())) {
    // The error to report is that of the bytes that have no room.
    static_cast<void>(state_.note_lost(commit_stored()));
  }
  return prepared;
}

Status FrameCommitter::publish(bool durably) {
  FRAMEFS_CHECK(backend_.publish());
  committed_bytes_ = prepared_bytes_;
  is_durable_ = false;
  if (durably || backend_.wants_reclaim()) {
    FRAMEFS_CHECK(backend_.sync());
    is_durable_ = true;
    FRAMEFS_CHECK(backend_.reclaim());
  }
  restore_mtime();
  return {};
}

// The bytes of a damaged chunk are dropped, and the rest can still be committed.  Other damage is
// final.
Status FrameCommitter::note_stored(Status status) {
  if (!flusher_.has_just_dropped()) return state_.note_stored(status);
  state_.set_dropped(true);
  return state_.note_lost(status);
}

// The result of a sync.  It also reports bytes that were dropped since the last sync.
Status FrameCommitter::with_dropped(Status status) {
  if (status) status = state_.check_all_named();
  const auto dropped = flusher_.take_dropped();
  state_.set_dropped(false);
  return status && dropped ? std::unexpected(*dropped) : status;
}

Status FrameCommitter::commit(bool durably) {
  if (state_.is_removed()) return {};
  FRAMEFS_CHECK(backend_.check_usable());
  if (!state_.is_changed()) {
    if (!durably) return {};
    if (!is_durable_) FRAMEFS_CHECK(backend_.sync());
    is_durable_ = true;
    return with_dropped({});
  }
  auto status = prepare_to_commit();
  if (status) status = backend_.sync();
  if (status) status = publish(durably);
  // The next commit includes the bytes that this one could not store.
  end_commit(status.has_value());
  status = note_stored(status);
  if (durably) return with_dropped(status);
  return status ? state_.check_all_named() : status;
}

Result<std::optional<FrameCommitter::Commit>> FrameCommitter::begin_commit() {
  if (state_.is_removed()) return std::nullopt;
  FRAMEFS_CHECK(backend_.check_usable());
  if (!state_.is_changed()) return std::nullopt;
  if (const auto prepared = prepare_to_commit(); !prepared) {
    end_commit(false);
    return std::unexpected(note_stored(prepared).error());
  }
  begun_ = ++commits_begun_;
  return Commit(begun_);
}

Status FrameCommitter::finish_commit(const Commit& commit) {
  if (begun_ != commit.number_) return {};
  const auto finished = finish_begun();
  return state_.is_removed() ? Status() : finished;
}

// Finishes the commit that begin_commit() has prepared, by a sync of this frame alone.
Status FrameCommitter::finish_begun() {
  if (std::exchange(begun_, 0) == 0) return {};
  auto status = state_.is_removed() ? system_error_of(ENOENT, "a removed frame") : backend_.sync();
  if (status) status = publish(false);
  end_commit(status.has_value());
  status = note_stored(status);
  return status ? state_.check_all_named() : status;
}

Status FrameCommitter::change_stored(
    const std::function<std::vector<std::int64_t>(ChunkOverlay&)>& change) {
  FRAMEFS_TRY(const auto dropped,
              overlay_.write([&](ChunkOverlay& overlay) -> Result<std::vector<std::int64_t>> {
                FRAMEFS_CHECK(backend_.check_usable());
                return change(overlay);
              }));
  for (const auto entry : dropped) backend_.drop(entry);
  keep_mtime();
  return {};
}

CompactionNeed FrameCommitter::need_of(const FrameBackend::Usage& usage) {
  if (usage.is_refused) return CompactionNeed::now;
  if (usage.dead < kMinCompactedBytes || usage.dead < usage.total - usage.dead) {
    return CompactionNeed::none;
  }
  return usage.dead < kMinPromptlyCompacted ? CompactionNeed::when_quiet : CompactionNeed::now;
}

CompactionNeed FrameCommitter::may_want_compaction() {
  constexpr std::size_t kManyChunks = 1024;
  if (state_.is_removed() || state_.is_lost()) return CompactionNeed::none;
  if (committed_only_ || state_.has_uncommitted()) return CompactionNeed::none;
  const auto all = overlay_.read([](const ChunkOverlay& overlay) { return overlay.entries(); });
  if (all.entries().size() > kManyChunks) return CompactionNeed::now;
  return need_of(backend_.usage(all.entries()));
}

Status FrameCommitter::compact(bool always, const std::function<bool()>& is_over) {
  FRAMEFS_CHECK(commit(false));
  if (state_.is_removed()) return {};
  struct State {
    std::uint64_t nbytes = 0;
    SharedEntries::Snapshot entries;
    std::vector<codec::NamedContent> vlmetalayers;
    bool is_changed = false;
  };
  const auto committed = overlay_.read([](const ChunkOverlay& overlay) {
    return State{overlay.nbytes(), overlay.entries(), overlay.vlmetalayers, overlay.is_changed()};
  });
  // A writer has begun to write again, or the last chunk is stored for the committed state only.
  if (committed.is_changed || committed_only_) return {};
  if (!always) backend_.set_interruption(is_over);
  const auto usage = backend_.usage(committed.entries.entries());
  if (need_of(usage) == CompactionNeed::none && (!always || usage.dead == 0)) {
    backend_.take_interruption();
    return {};
  }
  const auto moved = [this](const std::vector<std::int64_t>& entries) {
    const auto id = content_ids_.next();
    overlay_.write([&](ChunkOverlay& overlay) { overlay.replace_entries(entries, id); });
  };
  const auto compacted = backend_.compact(
      {committed.nbytes, committed.entries.entries(), committed.vlmetalayers}, moved);
  const bool was_interrupted = backend_.take_interruption();
  is_durable_ = false;
  if (!compacted && !was_interrupted) return state_.note_lost(compacted);
  is_durable_ = compacted.has_value();
  if (compacted) counters_.compactions.add();
  restore_mtime();
  return state_.note_lost({});
}

Status FrameCommitter::remove(const std::function<Status()>& remove) {
  const auto all = overlay_.read([](const ChunkOverlay& overlay) { return overlay.entries(); });
  backend_.keep_readable(all.entries());
  auto removed = remove();
  if (removed) state_.set_removed();
  return removed;
}

void FrameCommitter::discard() {
  if (!state_.has_uncommitted() || state_.is_lost() || state_.is_removed()) return;
  backend_.discard_stored();
  backend_.give_up();
  static_cast<void>(state_.note_lost({}));
}

void FrameCommitter::release_old_states() {
  if (state_.is_changed() || state_.is_lost() || state_.is_removed()) return;
  backend_.release_old_states();
}

}  // namespace framefs::fs
