#include "fs/write/session_threads.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <utility>

#include "fs/core/threads/may_wait.h"
#include "fs/write/session_commits.h"

namespace framefs::fs {
namespace {

// Chunks that are complete are stored, closed frames and all frames are committed: each on one
// thread at a time.
constexpr std::size_t kThreads = 3;
// The limit of frames that are committed on threads of their own at a time.
constexpr std::size_t kMaxAlone = 8;
// Batching window for commits of closed files: other files may be closed right after the first.
constexpr std::chrono::milliseconds kGathering{100};
constexpr std::chrono::milliseconds kNow{0};

// A session that waits for its compaction keeps its file open.
constexpr std::chrono::milliseconds kMaxQuiet{30'000};
constexpr std::size_t kMaxWaitingForQuiet = 512;

}  // namespace

SessionThreads::SessionThreads(Log& log, OverlayBudget& overlay, WriteSessionTable& table,
                               std::chrono::milliseconds commit_interval)
    : log_(log),
      overlay_(overlay),
      table_(table),
      interval_(commit_interval),
      threads_(kThreads),
      alone_threads_(kMaxAlone),
      compaction_thread_(1, TaskThreads::Priority::low) {}

void SessionThreads::stop() {
  is_ending_.store(true);
  threads_.stop();
  compaction_thread_.stop();
  alone_threads_.stop();
}

// The rounds begin with a session, and end when there is none.  A thread waits for the time of the
// next one, and runs the other tasks, too, if the system allows no more threads.  No thread starts
// earlier: the daemon restricts itself before it has threads.
Status SessionThreads::start() {
  has_rounds_ = has_rounds_ || add_round(TaskThreads::Clock::now() + interval_);
  if (has_rounds_) return {};
  return refusal(EAGAIN, "the system allows no more threads, and a writer needs one");
}

bool SessionThreads::add_round(TaskThreads::Clock::time_point time) {
  return threads_.add([this] { run_round(); }, time);
}

void SessionThreads::run_round() {
  const auto next = TaskThreads::Clock::now() + interval_;
  finish(table_.all());
  // A session that is about to begin needs the rounds.
  if (!table_.without_sessions([&] { has_rounds_ = false; })) add_round(next);
}

void SessionThreads::note_closed(const FileKey& key) {
  const auto waiting = closed_.with([&](Closed& now) {
    now.files.push_back(key);
    return now.is_running ? 0 : now.files.size();
  });
  // The first closed file begins the batching window, and a full batch ends it.
  if (waiting == 1) commit_closed_after(kGathering);
  if (waiting == kMaxFramesTogether) commit_closed_after(kNow);
}

void SessionThreads::note_full(const Session& session) {
  const bool is_first = full_.with([&](Full& now) {
    if (std::ranges::find(now.sessions, session) == now.sessions.end()) {
      now.sessions.push_back(session);
    }
    return !std::exchange(now.is_running, true);
  });
  if (is_first) threads_.add([this] { store_full(); });
}

// Whether the file has been closed for a whole commit interval.  If that is long, or if many
// sessions would wait for it, no file waits.
bool SessionThreads::is_quiet(const FileKey& key) const {
  if (interval_ > kMaxQuiet || table_.size() > kMaxWaitingForQuiet) return true;
  const auto closed_at = table_.closed_at(key);
  return closed_at && std::chrono::steady_clock::now() - *closed_at >= interval_;
}

// Returns false, and does nothing, if it would have to wait.
bool SessionThreads::end_promptly(const FileKey& key) {
  const NoWaitScope scope;
  end_or_compact(key);
  return !scope.has_refused();
}

// Ends the session of a closed file, here or after its compaction.
void SessionThreads::end_or_compact(const FileKey& key) {
  // The question below would interrupt a compaction that is under way.
  if (compacting_.with([&](const Keys& now) { return now.contains(key); })) return;
  const auto session = table_.find(key);
  if (!session) return;
  if (session->is_unlinked()) return table_.end(key);
  const auto need = session->may_want_compaction();
  if (!need) return;
  if (*need == CompactionNeed::none) return table_.end(key);
  // The next round at the commit interval asks again.
  if (*need == CompactionNeed::when_quiet && !is_quiet(key)) return;
  if (!compacting_.with([&](Keys& now) { return now.insert(key).second; })) return;
  const auto work = [this, key] {
    compact_closed(key);
    compacting_.with([&](Keys& now) { now.erase(key); });
  };
  if (!compaction_thread_.add(work)) compacting_.with([&](Keys& now) { now.erase(key); });
}

void SessionThreads::compact_closed(const FileKey& key) {
  {
    const auto held = table_.hold_closed(key);
    if (!held.session) return;  // the last close comes later
    auto& session = *held.session;
    if (!session.is_changed() && !session.is_lost()) {
      const auto is_ending = [this] {
        return is_ending_.load() || overlay_.is_index_room_wanted();
      };
      if (const auto compacted = session.compact(false, is_ending); !compacted) {
        log_commit_failure(log_, session, compacted.error());
      }
    }
  }
  table_.end(key);
}

// Finishes files: commits them, and ends the sessions of the closed ones.  A file is left to a
// thread of its own if its commit takes long, or has to wait for another thread's work on it.
void SessionThreads::finish(const std::vector<File>& files) {
  const auto left = commit_small(log_, files);
  // Writers change the sizes meanwhile, and a sort needs keys that stay the same.
  std::vector<std::pair<std::uint64_t, FileKey>> by_size;
  by_size.reserve(left.size());
  for (const auto& file : left) by_size.emplace_back(file.session->unstored_bytes(), file.key);
  std::ranges::sort(by_size, std::ranges::less{}, [](const auto& each) { return each.first; });
  for (const auto& [bytes, key] : by_size) finish_alone(key);
  for (const auto& file : files) {
    const bool is_left = std::ranges::find(left, file.key, &File::key) != left.end();
    if (is_left || !table_.closed_at(file.key)) continue;
    if (!end_promptly(file.key)) finish_alone(file.key);
  }
}

// Finishes a file on a thread of its own.
void SessionThreads::finish_alone(const FileKey& key) {
  const bool is_new = alone_.with([&](Alone& now) {
    const auto [at, is_first] = now.try_emplace(key, false);
    at->second = !is_first;
    return is_first;
  });
  if (!is_new) return;
  const auto must_repeat = [this, key] {
    return alone_.with([&](Alone& now) {
      const auto at = now.find(key);
      if (std::exchange(at->second, false)) return true;
      now.erase(at);
      return false;
    });
  };
  const auto work = [this, key, must_repeat] {
    do {
      finish_waiting(key);
    } while (must_repeat());
  };
  // Without a thread, the next round or the end of the mount finishes the file.
  if (!alone_threads_.add(work)) alone_.with([&](Alone& now) { now.erase(key); });
}

void SessionThreads::finish_waiting(const FileKey& key) {
  const auto session = table_.find(key);
  if (!session) return;
  if (session->is_changed()) commit_alone(log_, *session);
  if (table_.closed_at(key)) end_or_compact(key);
}

void SessionThreads::store_full() {
  while (!is_ending_.load()) {
    const auto sessions = full_.with([](Full& now) {
      now.is_running = !now.sessions.empty();
      return std::exchange(now.sessions, {});
    });
    if (sessions.empty()) return;
    for (const auto& session : sessions) {
      // The next write, sync or close that needs these chunks stored reports a failure.
      const auto is_done = session->flush_full();
      // The others come first: a frame whose writer is fast always has more.
      if (is_done && !*is_done) note_full(session);
    }
  }
}

void SessionThreads::commit_closed_after(std::chrono::milliseconds delay) {
  threads_.add([this] { commit_closed(); }, TaskThreads::Clock::now() + delay);
}

void SessionThreads::commit_closed() {
  const auto keys = closed_.with([](Closed& now) {
    if (now.is_running) return std::vector<FileKey>();
    now.is_running = !now.files.empty();
    return std::exchange(now.files, {});
  });
  if (keys.empty()) return;
  std::vector<File> files;
  for (const auto& key : keys) {
    // A file may have been opened and closed several times meanwhile.
    const bool is_known = std::ranges::find(files, key, &File::key) != files.end();
    if (auto session = is_known ? nullptr : table_.find(key))
      files.push_back({key, std::move(session)});
  }
  finish(files);
  const auto waiting = closed_.with([](Closed& now) {
    now.is_running = false;
    return now.files.size();
  });
  if (waiting > 0) commit_closed_after(waiting < kMaxFramesTogether ? kGathering : kNow);
}

}  // namespace framefs::fs
