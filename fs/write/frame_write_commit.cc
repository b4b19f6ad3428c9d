#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <limits>

#include "fs/core/may_wait.h"
#include "fs/write/frame_write_session.h"

namespace framefs::fs {
namespace {

// Less dead space is not worth a compaction.
constexpr std::uint64_t kMinCompactedBytes = 1u << 20;

}  // namespace

void FrameWriteSession::end_commit(bool is_committed) {
  overlay_.write([&](ChunkOverlay& overlay) { overlay.end_commit(is_committed); });
  release_ownership();
}

// The file shows the time of the write, not the time at which the bytes were stored.  A process
// that may write to the file is not always allowed to set its times.  That error is ignored,
// because the commit matters more.
void FrameWriteSession::restore_mtime() const {
  overlay_.read([&](const ChunkOverlay& overlay) {
    const std::array<timespec, 2> times{timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                                        overlay.mtime};
    static_cast<void>(::futimens(backend_->content_fd(), times.data()));
    backend_->note_times();
  });
}

// If only the time has changed, no commit follows that would set it.
void FrameWriteSession::keep_mtime_uncommitted() const {
  if (!is_changed() && !is_removed_) restore_mtime();
}

void FrameWriteSession::drop(std::span<const std::int64_t> entries) {
  for (const auto entry : entries) backend_->drop(entry);
}

Status FrameWriteSession::prepare_locked() {
  struct Snapshot {
    std::vector<ChunkOverlay::Frozen> frozen;
    std::uint64_t nbytes = 0;
    std::uint64_t chunk_count = 0;
    std::vector<codec::NamedContent> vlmetalayers;
  };
  auto state = overlay_.write([](ChunkOverlay& overlay) {
    overlay.begin_commit();
    return Snapshot{
        overlay.freeze(ChunkOverlay::Which::all, std::numeric_limits<std::uint64_t>::max()),
        overlay.nbytes(), overlay.chunk_count(), overlay.vlmetalayers};
  });
  FRAMEFS_CHECK(write_frozen(std::move(state.frozen)));
  // Only the holder of `commit_lock_` changes entries, but writers may have appended more of them.
  const auto all = overlay_.read([](const ChunkOverlay& overlay) { return overlay.entries(); });
  auto entries = all.entries().first(state.chunk_count);
  std::vector<std::int64_t> with_last_zeros;
  if (committed_only_) backend_->drop(*std::exchange(committed_only_, std::nullopt));
  if (!entries.empty() && state.nbytes % params_.typesize != 0 &&
      overlay_frame_->frame()->is_zero_entry(entries.back())) {
    const auto chunksize =
        overlay_.read([](const ChunkOverlay& overlay) { return overlay.chunksize(); });
    if (state.nbytes % chunksize != 0) {
      with_last_zeros.assign(entries.begin(), entries.end());
      FRAMEFS_TRY(with_last_zeros.back(), write_last_zeros(state.nbytes));
      entries = with_last_zeros;
    }
  }
  return backend_->prepare({state.nbytes, entries, state.vlmetalayers});
}

Status FrameWriteSession::finish_locked(bool durably) {
  FRAMEFS_CHECK(backend_->publish());
  is_durable_ = false;
  if (durably || backend_->wants_reclaim()) {
    FRAMEFS_CHECK(backend_->sync());
    is_durable_ = true;
    FRAMEFS_CHECK(backend_->reclaim());
  }
  restore_mtime();
  return {};
}

Status FrameWriteSession::commit_locked(bool durably) {
  if (is_removed_) return {};
  FRAMEFS_CHECK(backend_->check_usable());
  if (!is_changed()) {
    if (!durably || is_durable_) return {};
    FRAMEFS_CHECK(backend_->sync());
    is_durable_ = true;
    return {};
  }
  auto status = take_new_lock_file();
  if (status) status = prepare_locked();
  if (status) status = backend_->sync();
  if (status) status = finish_locked(durably);
  // The next commit includes the bytes that this one could not store.
  end_commit(status.has_value());
  return note_lost(status);
}

Status FrameWriteSession::commit(bool durably) {
  const auto hold = take_commit_lock();
  return commit_locked(durably);
}

Result<std::optional<FrameWriteSession::Commit>> FrameWriteSession::begin_commit() {
  const auto hold = take_commit_lock_promptly();
  if (!hold) return std::unexpected(would_wait().error());
  if (is_removed_) return std::nullopt;
  FRAMEFS_CHECK(backend_->check_usable());
  if (!is_changed()) return std::nullopt;
  auto prepared = take_new_lock_file();
  if (prepared) prepared = prepare_locked();
  if (!prepared) {
    end_commit(false);
    return std::unexpected(note_lost(prepared).error());
  }
  begun_commit_ = ++commits_begun_;
  return Commit(begun_commit_);
}

Status FrameWriteSession::finish_commit(const Commit& commit, const Status& synced) {
  const auto hold = commit_lock_.take();
  if (begun_commit_ != commit.number_) return {};
  begun_commit_ = 0;
  if (is_removed_) {
    end_commit(false);
    return {};
  }
  if (!synced) backend_->give_up();
  auto status = synced ? finish_locked(false) : synced;
  end_commit(status.has_value());
  return note_lost(status);
}

Status FrameWriteSession::finish_commit(const Commit& commit) {
  const auto hold = commit_lock_.take();
  if (begun_commit_ != commit.number_) return {};
  const auto finished = finish_begun();
  return is_removed_ ? Status() : finished;
}

// Finishes the commit that begin_commit() has prepared, by a sync of this frame alone.
Status FrameWriteSession::finish_begun() {
  if (std::exchange(begun_commit_, 0) == 0) return {};
  auto status = is_removed_ ? system_error_of(ENOENT, "a removed frame") : backend_->sync();
  if (status) status = finish_locked(false);
  end_commit(status.has_value());
  return note_lost(status);
}

// No chunk may be stored or dropped while a prepared commit refers to the chunks as they are.  An
// error of that commit is not the caller's: a lost session reports it, and otherwise the next
// commit includes what this one could not publish.
SessionLock::Hold FrameWriteSession::take_commit_lock() {
  auto hold = commit_lock_.take();
  static_cast<void>(finish_begun());
  return hold;
}

// The same, unless the thread must not wait: then the result holds no lock if it would have to.
SessionLock::Hold FrameWriteSession::take_commit_lock_promptly() {
  if (may_wait()) return take_commit_lock();
  auto hold = commit_lock_.try_take();
  if (hold && begun_commit_ != 0) hold.release();
  return hold;
}

bool FrameWriteSession::is_worth_compacting(std::span<const std::int64_t> entries, bool always) {
  const auto [total, dead, is_refused] = backend_->usage(entries);
  const bool is_worth_it = dead >= kMinCompactedBytes && dead >= total - dead;
  return is_worth_it || is_refused || (always && dead > 0);
}

Result<bool> FrameWriteSession::may_want_compaction() {
  constexpr std::size_t kManyChunks = 1024;
  const auto hold = take_commit_lock_promptly();
  if (!hold) return std::unexpected(would_wait().error());
  if (is_removed_ || is_lost() || committed_only_ || has_uncommitted()) return false;
  const auto all = overlay_.read([](const ChunkOverlay& overlay) { return overlay.entries(); });
  return all.entries().size() > kManyChunks || is_worth_compacting(all.entries(), false);
}

Status FrameWriteSession::compact(bool always, const std::function<bool()>& is_ending) {
  const auto change =
      always ? begin_change() : try_begin_change(std::chrono::milliseconds(0), nullptr);
  if (!change) {
    // The other program compacts the frame if that is needed.
    const bool is_others = change.error().sys == EBUSY || (is_lost() && !has_lost_bytes());
    return is_others && !always ? Status{} : std::unexpected(change.error());
  }
  const auto hold = take_commit_lock();
  FRAMEFS_CHECK(commit_locked(false));
  if (is_removed_) return {};
  struct State {
    std::uint64_t nbytes = 0;
    SharedEntries::Snapshot entries;
    std::vector<codec::NamedContent> vlmetalayers;
    bool is_changed = false;
  };
  const auto state = overlay_.read([](const ChunkOverlay& overlay) {
    return State{overlay.nbytes(), overlay.entries(), overlay.vlmetalayers, overlay.is_changed()};
  });
  // A writer has begun to write again, or the last chunk is stored for the committed state only.
  if (state.is_changed || committed_only_) return {};
  const auto is_over = [&] {
    return commit_lock_.is_wanted() || is_changed() || (is_ending && is_ending());
  };
  if (!always) backend_->set_interruption(is_over);
  if (!is_worth_compacting(state.entries.entries(), always)) {
    backend_->take_interruption();
    return {};
  }
  const auto moved = [this](const std::vector<std::int64_t>& entries) {
    const auto id = services_.content_ids.next();
    overlay_.write([&](ChunkOverlay& overlay) { overlay.replace_entries(entries, id); });
  };
  const auto compacted =
      backend_->compact({state.nbytes, state.entries.entries(), state.vlmetalayers}, moved);
  const bool was_interrupted = backend_->take_interruption();
  is_durable_ = false;
  if (!compacted && !was_interrupted) return note_lost(compacted);
  is_durable_ = compacted.has_value();
  restore_mtime();
  return note_lost({});
}

Status FrameWriteSession::remove(const std::function<Status()>& remove) {
  const auto hold = commit_lock_.take();
  auto removed = remove();
  if (removed) is_removed_ = true;
  return removed;
}

bool FrameWriteSession::release_old_states() {
  const auto hold = take_commit_lock_promptly();
  if (!hold) return would_wait().has_value();
  if (!is_changed() && !is_lost() && !is_removed_) backend_->release_old_states();
  return true;
}

}  // namespace framefs::fs
