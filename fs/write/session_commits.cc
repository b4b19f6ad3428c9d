#include "fs/write/session_commits.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ranges>
#include <set>
#include <utility>

#include "fs/core/threads/guarded.h"
#include "fs/core/threads/may_wait.h"
#include "fs/core/threads/task_threads.h"

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

// Commits that have begun and wait for their syncs.
struct CommitBatch {
  std::vector<std::pair<WriteSessionTable::Session, FrameWriteSession::Commit>> commits;
  std::uint64_t bytes = 0;
  [[nodiscard]] bool is_full() const {
    return commits.size() >= kMaxFramesTogether || bytes >= kMaxBatchBytes;
  }
};

// Begins the commit of a small frame.  Returns false, and does nothing, if the frame is large, or
// if the thread would have to wait for it.
bool add_to_batch(Log& log, const WriteSessionTable::Session& session, CommitBatch& batch) {
  const auto bytes = session->unstored_bytes();
  if (bytes > kMaxSmallBytes) return false;
  const bool was_lost = session->is_lost();  // and the log has it already
  const NoWaitScope scope;
  const auto begun = session->begin_commit();
  if (scope.has_refused()) return false;
  if (!begun) {
    if (!was_lost) log_commit_failure(log, *session, begun.error());
  } else if (const auto& commit = *begun) {
    // Also commits a file whose last name is gone: processes that have it open still read it, and
    // after a crash the file may have its name again.
    batch.commits.emplace_back(session, *commit);
    batch.bytes += bytes;
  }
  return true;
}

// Syncs and publishes the frames of a batch.
void finish_batch(Log& log, const CommitBatch& batch) {
  const auto& commits = batch.commits;
  hint_of_syncs(commits | std::views::keys);
  run_each(commits.size(), kMaxSyncs, [&](std::size_t i) {
    const auto& [session, commit] = commits[i];
    const auto finished = session->finish_commit(commit);
    if (!finished) log_commit_failure(log, *session, finished.error());
  });
}

}  // namespace

void log_commit_failure(Log& log, const FrameWriteSession& session, const codec::Error& error) {
  if (!session.is_superseded()) log.failure(session.name(), error);
}

std::vector<WriteSessionTable::File> commit_small(
    Log& log, const std::vector<WriteSessionTable::File>& files) {
  std::vector<WriteSessionTable::File> left;
  CommitBatch batch;
  for (const auto& file : files) {
    if (!file.session->is_changed()) continue;
    if (!add_to_batch(log, file.session, batch)) left.push_back(file);
    if (batch.is_full()) finish_batch(log, std::exchange(batch, {}));
  }
  finish_batch(log, batch);
  return left;
}

void commit_alone(Log& log, FrameWriteSession& session) {
  const bool was_lost = session.is_lost();
  const auto committed = session.commit(false);
  if (!committed && !was_lost) log_commit_failure(log, session, committed.error());
}

std::vector<std::string> commit_durably(Log& log,
                                        const std::vector<WriteSessionTable::File>& files) {
  for (const auto& [key, session] : commit_small(log, files)) commit_alone(log, *session);
  hint_of_syncs(files | std::views::transform(&WriteSessionTable::File::session));
  Guarded<std::vector<std::string>> failed;
  run_each(files.size(), kMaxSyncs, [&](std::size_t i) {
    auto& session = *files[i].session;
    // The log has the failure already.
    if (session.is_lost() || session.is_changed()) return;
    const auto synced = session.commit(true);
    if (synced || session.is_superseded()) return;
    log_commit_failure(log, session, synced.error());
    failed.with([&](auto& names) { names.push_back(session.name()); });
  });
  return failed.with([](auto& names) { return std::move(names); });
}

}  // namespace framefs::fs
