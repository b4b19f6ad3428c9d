#include "fs/write/write_session_table.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "fs/core/background_thread.h"

namespace framefs::fs {
namespace {

// The number of frames in a batch with one sync: every frame of the batch waits for the whole
// batch.
constexpr std::size_t kMaxTogether = 256;
// Batching window for commits of closed files: other files may be closed right after the first.
constexpr std::chrono::milliseconds kGathering{100};

// Syncs the filesystems of the given files, each filesystem once.  Other filesystems may be mounted
// inside SOURCE.
class FilesystemSyncs {
 public:
  Status of(int fd) {
    FRAMEFS_TRY(const auto st, stat_of(fd));
    const auto known = done_.find(st.st_dev);
    if (known != done_.end()) return known->second;
    const Status synced = ::syncfs(fd) == 0 ? Status{} : system_error("syncfs");
    done_.emplace(st.st_dev, synced);
    return synced;
  }

 private:
  std::map<dev_t, Status> done_;
};

bool is_unlinked(const FrameWriteSession& session) {
  const auto st = session.content_stat();
  return st && st->st_nlink == 0;
}

}  // namespace

WriteSessionTable::WriteSessionTable(Log& log, std::chrono::milliseconds commit_interval,
                                     OnEnd on_end)
    : log_(log), interval_(commit_interval), on_end_(std::move(on_end)) {}

WriteSessionTable::~WriteSessionTable() {
  work_.with_and_wake([](Work& work) { work.is_ending = true; });
  if (thread_.joinable()) thread_.join();
  auto sessions = all();
  std::erase_if(sessions, [](const Session& session) { return is_unlinked(*session); });
  commit_together(sessions);
  FilesystemSyncs syncs;
  for (const auto& session : sessions) {
    const auto synced = syncs.of(session->content_fd());
    if (!synced) log_.failure(session->name(), synced.error());
    if (!synced || session->is_changed()) {
      log_.warn(session->name() + ": what was written last is lost");
    }
  }
}

std::vector<WriteSessionTable::Session> WriteSessionTable::all() const {
  return state_.with([](const State& state) {
    std::vector<Session> sessions;
    for (const auto& [key, entry] : state.entries) sessions.push_back(entry.session);
    return sessions;
  });
}

WriteSessionTable::Seen WriteSessionTable::look(const FileKey& key) const {
  // Reads the number first: a session that begins after this line changes it.
  const auto now = generation(key).load(std::memory_order_acquire);
  if (count_.load(std::memory_order_acquire) == 0) return {nullptr, now};
  return state_.with([&](const State& state) -> Seen {
    const auto at = state.entries.find(key);
    const auto locked = generation(key).load(std::memory_order_relaxed);
    return {at == state.entries.end() ? nullptr : at->second.session, locked};
  });
}

void WriteSessionTable::note_change(const State& state, const FileKey& key) {
  count_.store(state.entries.size(), std::memory_order_release);
  generations_[FileKeyHash{}(key) % kGenerations].fetch_add(1, std::memory_order_release);
}

Result<WriteSessionTable::Session> WriteSessionTable::open(
    const FileKey& key, const std::function<Result<Session>()>& make) {
  const auto join = [&](State& state) -> Session {
    const auto at = state.entries.find(key);
    if (at == state.entries.end() || at->second.session->is_lost()) return nullptr;
    ++at->second.writers;
    return at->second.session;
  };
  if (auto known = state_.with(join)) return known;
  const auto hold = opening_.take();
  // The thread starts here and not earlier: the daemon restricts itself before it has threads.
  if (!thread_.joinable()) {
    thread_ = background_thread([this](const std::stop_token&) { serve(); });
  }
  if (auto known = state_.with(join)) return known;
  FRAMEFS_TRY(auto made, make());
  Session before;  // destroyed after the lock
  return state_.with([&](State& state) {
    auto& entry = state.entries[key];
    if (entry.session && entry.session->has_lost_bytes() && entry.writers > 0) {
      state.lost.push_back(std::exchange(entry, {}));
    }
    before = std::exchange(entry.session, made);
    ++entry.writers;
    note_change(state, key);
    return made;
  });
}

Result<WriteSessionTable::Session> WriteSessionTable::renew(
    const FileKey& key, const Session& lost, const std::function<Result<Session>()>& make) {
  const auto current = [&](const State& state) -> Session {
    const auto at = state.entries.find(key);
    return at == state.entries.end() || at->second.session == lost ? nullptr : at->second.session;
  };
  const auto hold = opening_.take();
  if (auto known = state_.with(current)) return known;
  FRAMEFS_TRY(auto made, make());
  return state_.with([&](State& state) {
    state.entries[key].session = made;  // the caller holds `lost` too
    note_change(state, key);
    return made;
  });
}

// Whether `session` is one that another has replaced.
bool WriteSessionTable::close_lost(State& state, const Session& session) {
  const auto at = std::ranges::find(state.lost, session, &Entry::session);
  if (at == state.lost.end()) return false;
  if (--at->writers == 0) state.lost.erase(at);  // the caller holds `session` too
  return true;
}

void WriteSessionTable::close(const FileKey& key, const Session& session) {
  const bool is_last = state_.with([&](State& state) {
    if (close_lost(state, session)) return false;
    const auto at = state.entries.find(key);
    return at != state.entries.end() && --at->second.writers == 0;
  });
  if (!is_last) return;
  const auto waiting = work_.with([&](Work& work) {
    work.closed.push_back(key);
    return work.closed.size();
  });
  // The first closed file begins the batching window, and a full batch ends it.
  if (waiting == 1 || waiting == kMaxTogether) work_.wake();
}

void WriteSessionTable::note_full(const Session& session) {
  work_.with_and_wake([&](Work& work) {
    if (std::ranges::find(work.full, session) == work.full.end()) work.full.push_back(session);
  });
}

Status WriteSessionTable::make_room(FrameWriteSession& session, std::uint64_t needed,
                                    unsigned attempt) {
  // The bytes of this session come first: a writer of many bytes pays for them.
  FRAMEFS_CHECK(session.flush(ChunkOverlay::Which::all));
  // Then those of the others, the frames with the most bytes first.
  std::vector<std::pair<std::uint64_t, Session>> others;
  for (auto& other : all()) {
    const auto used = other->used_bytes();
    if (used > 0) others.emplace_back(used, std::move(other));
  }
  std::ranges::sort(others, std::ranges::greater{}, [](const auto& other) { return other.first; });
  Status status;
  std::uint64_t removed_bytes = 0;
  for (const auto& [used, other] : others) {
    if (session.has_room(needed)) return {};
    if (const auto flushed = other->flush(ChunkOverlay::Which::all); !flushed) status = flushed;
    if (other->is_removed()) removed_bytes += used;
  }
  if (session.has_room(needed)) return {};
  FRAMEFS_CHECK(status);
  // Other writers have used the room that was made.  The bytes of removed frames never make room.
  constexpr unsigned kMaxAttempts = 100;
  if (removed_bytes > 0 && (session.is_removed() || attempt >= kMaxAttempts)) {
    return codec::fail(codec::Errc::no_space, "overlay of a removed frame");
  }
  return {};
}

// Runs one sync for all frames of a batch before it publishes any of them.  Failures are logged,
// and the sessions stay.
void WriteSessionTable::commit_together(std::vector<Session> sessions) {
  // A thread that takes many commit locks takes them in a fixed order.
  std::ranges::sort(sessions);
  for (std::size_t done = 0; done < sessions.size(); done += kMaxTogether) {
    const auto count = std::min(kMaxTogether, sessions.size() - done);
    std::vector<std::pair<Session, FrameWriteSession::Commit>> commits;
    for (const auto& session : std::span(sessions).subspan(done, count)) {
      const bool was_lost = session->is_lost();  // and the log has it already
      auto begun = session->begin_commit();
      if (!begun) {
        if (!was_lost) log_.failure(session->name(), begun.error());
      } else if (*begun) {
        // Also commits a file whose last name is gone: processes that have it open still read it,
        // and a crash may bring the name back.
        commits.emplace_back(session, std::move(**begun));
      }
    }
    const bool is_alone = commits.size() == 1;
    FilesystemSyncs syncs;
    for (auto& [session, commit] : commits) {
      const auto synced = is_alone ? commit.sync() : syncs.of(session->content_fd());
      const auto finished = session->finish_commit(commit, synced);
      if (!finished) log_.failure(session->name(), finished.error());
    }
  }
}

void WriteSessionTable::end_entry(const FileKey& key) {
  const auto session = find(key);
  if (!session) return;
  const bool is_gone = is_unlinked(*session);
  if (!is_gone && !session->is_changed() && !session->is_lost()) {
    if (const auto compacted = session->compact(false); !compacted) {
      log_.failure(session->name(), compacted.error());
    }
  }
  // This comes before another session of the file can begin: that session would already treat as
  // free what is removed here.
  session->release_old_states();
  Session ended;  // destroyed after the lock
  FileIdentity identity;
  state_.with([&](State& state) {
    const auto at = state.entries.find(key);
    if (at == state.entries.end() || at->second.writers > 0) return;
    // A failed commit is tried again later, as long as a commit can still succeed.
    if (session->is_changed() && !is_gone && !session->is_lost()) return;
    if (const auto st = session->content_stat()) identity = identity_of(*st);
    ended = std::move(at->second.session);
    state.entries.erase(at);
    note_change(state, key);
  });
  if (!ended) return;
  if (ended->has_lost_bytes() && !is_gone) {
    log_.warn(ended->name() + ": what was written last is lost");
  }
  on_end_(key, identity);
}

void WriteSessionTable::end_closed(const std::vector<FileKey>& keys) {
  // A file may have been opened and closed several times meanwhile.
  std::vector<Session> sessions;
  for (const auto& key : keys) {
    auto session = find(key);
    if (session && std::ranges::find(sessions, session) == sessions.end())
      sessions.push_back(std::move(session));
  }
  commit_together(std::move(sessions));
  for (const auto& key : keys) end_entry(key);
}

void WriteSessionTable::serve() {
  auto next_round = std::chrono::steady_clock::now() + interval_;
  while (true) {
    const auto is_urgent = [](const Work& now) {
      return now.is_ending || !now.full.empty() || now.closed.size() >= kMaxTogether;
    };
    work_.wait_until(
        next_round, [&](const Work& now) { return is_urgent(now) || !now.closed.empty(); },
        [](const Work&) {});
    auto work = work_.wait_until(
        std::min(next_round, std::chrono::steady_clock::now() + kGathering), is_urgent,
        [](Work& now) {
          return Work{std::exchange(now.full, {}), std::exchange(now.closed, {}), now.is_ending};
        });
    if (work.is_ending) return;
    for (const auto& session : work.full) {
      // The next write, sync or close that needs these chunks stored reports a failure.
      static_cast<void>(session->flush(ChunkOverlay::Which::full));
    }
    end_closed(work.closed);
    if (std::chrono::steady_clock::now() < next_round) continue;
    commit_together(all());
    const auto unused = state_.with([](const State& state) {
      std::vector<FileKey> keys;
      for (const auto& [key, entry] : state.entries) {
        if (entry.writers == 0) keys.push_back(key);
      }
      return keys;
    });
    for (const auto& key : unused) end_entry(key);
    next_round = std::chrono::steady_clock::now() + interval_;
  }
}

}  // namespace framefs::fs
