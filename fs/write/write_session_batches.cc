#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ranges>
#include <set>
#include <utility>

#include "fs/write/write_session_table.h"

// The commits of many frames at a time.
namespace framefs::fs {
namespace {

// The size of the chunks that a batch may have to store.
constexpr std::uint64_t kMaxBatchBytes = 16u << 20;
// The commit of a frame that has to store more is not part of a batch.
constexpr std::uint64_t kMaxSmallBytes = 2u << 20;
// For no more frames than this, the syncs of the frames alone are faster than a sync of the whole
// filesystem before them, which waits for all of its data.
constexpr std::size_t kMaxSingleSyncs = 4;
// The limit of frames of a batch that are synced at a time.  The journal of a filesystem joins
// their syncs.
constexpr std::size_t kMaxSyncs = 8;

// To be called before the frames are synced.  Has the filesystems of many frames write all of their
// data, each filesystem once.  Other filesystems may be mounted inside SOURCE.
//
// The result of syncfs(2) says nothing about a file: the kernel reports lost pages once to each
// open file of the inode, and it reports those of other programs here.  Each file's own sync
// decides.
template <class Sessions>
void hint_of_syncs(const Sessions& sessions) {
  if (std::ranges::size(sessions) <= kMaxSingleSyncs) return;
  std::set<dev_t> done;
  for (const auto& session : sessions) {
    const auto st = stat_of(session->sync_fd());
    if (st && done.insert(st->st_dev).second) static_cast<void>(::syncfs(session->sync_fd()));
  }
}

// Runs work(0) to work(count - 1), at most `limit` of them at a time.
void run_each(std::size_t count, std::size_t limit, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (auto i = next++; i < count; i = next++) work(i);
  };
  TaskThreads helpers(limit);
  // Each thread takes the next one, so it does not matter how many threads there are.
  for (std::size_t i = 1; i < std::min(count, limit); ++i) {
    if (!helpers.add(run)) break;
  }
  run();
}

}  // namespace

// Commits that have begun and wait for their syncs.
struct WriteSessionTable::Batch {
  std::vector<std::pair<Session, FrameWriteSession::Commit>> commits;
  std::uint64_t bytes = 0;
  [[nodiscard]] bool is_full() const {
    return commits.size() >= kMaxTogether || bytes >= kMaxBatchBytes;
  }
};

// Logs that a commit or a compaction failed.  Nothing went wrong if another writer changed a frame
// of which this session had only committed bytes.
void WriteSessionTable::log_failure(const FrameWriteSession& session, const codec::Error& error) {
  if (!session.is_superseded()) log_.failure(session.name(), error);
}

// Begins the commit of a small frame.  Returns false, and does nothing, if the frame is large, or
// if the thread would have to wait for it.  Failures are logged, and the session stays.
bool WriteSessionTable::add_to_batch(const Session& session, Batch& batch) {
  const auto bytes = session->unstored_bytes();
  if (bytes > kMaxSmallBytes) return false;
  const bool was_lost = session->is_lost();  // and the log has it already
  const NoWaitScope scope;
  const auto begun = session->begin_commit();
  if (scope.has_refused()) return false;
  if (!begun) {
    if (!was_lost) log_failure(*session, begun.error());
  } else if (const auto& commit = *begun) {
    // Also commits a file whose last name is gone: processes that have it open still read it, and
    // after a crash the file may have its name again.
    batch.commits.emplace_back(session, *commit);
    batch.bytes += bytes;
  }
  return true;
}

// Commits small frames in batches, and returns the other frames that have changed.
std::vector<WriteSessionTable::File> WriteSessionTable::commit_small(
    const std::vector<File>& files) {
  std::vector<File> left;
  Batch batch;
  for (const auto& file : files) {
    if (!file.session->is_changed()) continue;
    if (!add_to_batch(file.session, batch)) left.push_back(file);
    if (batch.is_full()) finish_batch(std::exchange(batch, {}));
  }
  finish_batch(batch);
  return left;
}

// Syncs and publishes the frames of a batch.
void WriteSessionTable::finish_batch(const Batch& batch) {
  const auto& commits = batch.commits;
  hint_of_syncs(commits | std::views::keys);
  run_each(commits.size(), kMaxSyncs, [&](std::size_t i) {
    const auto& [session, commit] = commits[i];
    const auto finished = session->finish_commit(commit);
    if (!finished) log_failure(*session, finished.error());
  });
}

void WriteSessionTable::commit_alone(FrameWriteSession& session) {
  const bool was_lost = session.is_lost();
  const auto committed = session.commit(false);
  if (!committed && !was_lost) log_failure(session, committed.error());
}

// Commits frames durably.
void WriteSessionTable::commit_durably(const std::vector<File>& files) {
  for (const auto& [key, session] : commit_small(files)) commit_alone(*session);
  hint_of_syncs(files | std::views::transform(&File::session));
  run_each(files.size(), kMaxSyncs, [&](std::size_t i) {
    auto& session = *files[i].session;
    // The log has the failure already.
    if (session.is_lost() || session.is_changed()) return;
    const auto synced = session.commit(true);
    if (synced || session.is_superseded()) return;
    log_failure(session, synced.error());
    state_.with([&](State& state) { state.all_losses.add(session.name()); });
  });
}

Losses WriteSessionTable::commit_all() {
  const auto files = named();
  commit_durably(files);
  auto lost = losses();
  for (const auto& [key, session] : files) {
    // A writer may go on writing: only what has failed counts.
    if (session->has_lost_bytes() || session->is_out_of_space()) lost.add(session->name());
  }
  return lost;
}

}  // namespace framefs::fs
