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
  full_.with_and_wake([](Full& now) { now.is_ending = true; });
  closed_.with_and_wake([](Closed& now) { now.is_ending = true; });
  compaction_.with_and_wake([](Compaction& now) { now.is_ending = true; });
  for (auto& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  auto sessions = all();
  std::erase_if(sessions, [](const Session& session) { return is_unlinked(*session); });
  commit_together(sessions);
  FilesystemSyncs syncs;
  for (const auto& session : sessions) {
    const auto synced = syncs.of(session->content_fd());
    if (!synced) log_.failure(session->name(), synced.error());
    if (!synced || session->is_changed()) {
      log_.warn(session->name() + ": the latest writes are lost");
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

// The threads start with the first session and not earlier: the daemon restricts itself before it
// has threads.  The caller holds `opening_`.
void WriteSessionTable::start_threads() {
  if (threads_[0].joinable()) return;
  threads_[0] = background_thread([this](const std::stop_token&) { store_full(); });
  threads_[1] = background_thread([this](const std::stop_token&) { commit_closed(); });
  threads_[2] = background_thread([this](const std::stop_token&) {
    give_way();
    compact_closed();
  });
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
  start_threads();
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
  const auto waiting = closed_.with([&](Closed& now) {
    now.files.push_back(key);
    return now.files.size();
  });
  // The first closed file begins the batching window, and a full batch ends it.
  if (waiting == 1 || waiting == kMaxTogether) closed_.wake();
}

void WriteSessionTable::note_full(const Session& session) {
  full_.with_and_wake([&](Full& now) {
    if (std::ranges::find(now.sessions, session) == now.sessions.end()) {
      now.sessions.push_back(session);
    }
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
void WriteSessionTable::commit_together(const std::vector<Session>& sessions) {
  for (std::size_t done = 0; done < sessions.size(); done += kMaxTogether) {
    const auto batch =
        std::span(sessions).subspan(done, std::min(kMaxTogether, sessions.size() - done));
    if (batch.size() == 1) {
      if (batch[0]->is_changed()) commit_alone(*batch[0]);
      continue;
    }
    std::vector<std::pair<Session, FrameWriteSession::Commit>> commits;
    for (const auto& session : batch) {
      if (!session->is_changed()) continue;
      const bool was_lost = session->is_lost();  // and the log has it already
      auto begun = session->begin_commit();
      if (!begun) {
        if (!was_lost) log_.failure(session->name(), begun.error());
      } else if (*begun) {
        // Also commits a file whose last name is gone: processes that have it open still read it,
        // and after a crash the file may have its name again.
        commits.emplace_back(session, **begun);
      }
    }
    FilesystemSyncs syncs;
    for (const auto& [session, commit] : commits) {
      const auto synced = syncs.of(session->sync_fd());
      const auto finished = session->finish_commit(commit, synced);
      if (!finished) log_.failure(session->name(), finished.error());
    }
  }
}

void WriteSessionTable::commit_alone(FrameWriteSession& session) {
  const bool was_lost = session.is_lost();
  const auto committed = session.commit(false);
  if (!committed && !was_lost) log_.failure(session.name(), committed.error());
}

void WriteSessionTable::end_removed(const FileKey& key) {
  const auto session = find(key);
  if (session && is_unlinked(*session)) end_entry(key);
}

// Ends the session of a closed file, here or after its compaction.
void WriteSessionTable::end_or_compact(const FileKey& key) {
  // The question below would interrupt a compaction that is under way.
  if (compaction_.with([&](const Compaction& now) { return now.has(key); })) return;
  const auto session = find(key);
  if (!session) return;
  if (is_unlinked(*session) || !session->may_want_compaction()) return end_entry(key);
  compaction_.with_and_wake([&](Compaction& now) {
    if (!now.has(key)) now.files.push_back(key);
  });
}

void WriteSessionTable::compact_closed() {
  const auto is_ending = [this] {
    return compaction_.with([](const Compaction& now) { return now.is_ending; });
  };
  while (true) {
    compaction_.with([](Compaction& now) { now.running = std::nullopt; });
    const auto key =
        compaction_.wait([](const Compaction& now) { return now.is_ending || !now.files.empty(); },
                         [](Compaction& now) -> std::optional<FileKey> {
                           if (now.is_ending) return std::nullopt;
                           now.running = now.files.front();
                           now.files.pop_front();
                           return now.running;
                         });
    if (!key) return;
    const auto session = state_.with([&](const State& state) -> Session {
      const auto at = state.entries.find(*key);
      const bool is_closed = at != state.entries.end() && at->second.writers == 0;
      return is_closed ? at->second.session : nullptr;
    });
    if (!session) continue;  // the last close comes later
    if (!session->is_changed() && !session->is_lost()) {
      if (const auto compacted = session->compact(false, is_ending); !compacted) {
        log_.failure(session->name(), compacted.error());
      }
    }
    end_entry(*key);
  }
}

void WriteSessionTable::end_entry(const FileKey& key) {
  const auto session = find(key);
  if (!session) return;
  const bool is_gone = is_unlinked(*session);
  // This comes before another session of the file can begin, because that session already treats
  // the space as free that is released here.
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
    log_.warn(ended->name() + ": the latest writes are lost");
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
  commit_together(sessions);
  for (const auto& key : keys) end_or_compact(key);
}

void WriteSessionTable::store_full() {
  while (true) {
    const auto work =
        full_.wait([](const Full& now) { return now.is_ending || !now.sessions.empty(); },
                   [](Full& now) { return Full{std::exchange(now.sessions, {}), now.is_ending}; });
    if (work.is_ending) return;
    for (const auto& session : work.sessions) {
      // The next write, sync or close that needs these chunks stored reports a failure.
      static_cast<void>(session->flush(ChunkOverlay::Which::full));
    }
  }
}

void WriteSessionTable::commit_closed() {
  auto next_round = std::chrono::steady_clock::now() + interval_;
  while (true) {
    const auto is_urgent = [](const Closed& now) {
      return now.is_ending || now.files.size() >= kMaxTogether;
    };
    closed_.wait_until(
        next_round, [&](const Closed& now) { return is_urgent(now) || !now.files.empty(); },
        [](const Closed&) {});
    const auto work = closed_.wait_until(
        std::min(next_round, std::chrono::steady_clock::now() + kGathering), is_urgent,
        [](Closed& now) { return Closed{std::exchange(now.files, {}), now.is_ending}; });
    if (work.is_ending) return;
    end_closed(work.files);
    if (std::chrono::steady_clock::now() < next_round) continue;
    commit_together(all());
    const auto unused = state_.with([](const State& state) {
      std::vector<FileKey> keys;
      for (const auto& [key, entry] : state.entries) {
        if (entry.writers == 0) keys.push_back(key);
      }
      return keys;
    });
    for (const auto& key : unused) end_or_compact(key);
    next_round = std::chrono::steady_clock::now() + interval_;
  }
}

}  // namespace framefs::fs
