#include "fs/write/write_session_table.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

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

WriteSessionTable::WriteSessionTable(Log& log, OverlayBudget& overlay,
                                     std::chrono::milliseconds commit_interval, OnEnd on_end,
                                     OnEnding on_ending)
    : log_(log),
      overlay_(overlay),
      interval_(commit_interval),
      on_end_(std::move(on_end)),
      on_ending_(std::move(on_ending)),
      threads_(kThreads),
      alone_threads_(kMaxAlone),
      compaction_thread_(1, TaskThreads::Priority::low) {}

std::vector<FileKey> WriteSessionTable::finish() {
  is_ending_.store(true);
  threads_.stop();
  compaction_thread_.stop();
  alone_threads_.stop();
  const auto files = named();
  commit_durably(files);
  std::vector<FileKey> committed;
  for (const auto& [key, session] : files) {
    if (session->has_uncommitted() || session->has_lost_bytes()) {
      log_.warn(session->name() + ": the latest writes are lost");
      state_.with([&](State& state) { state.all_losses.add(session->name()); });
      session->discard();
    } else {
      committed.push_back(key);
    }
  }
  // Destroyed after the lock.
  const auto ended = state_.with([&](State& state) {
    count_.store(0, std::memory_order_release);
    auto losses = state.all_losses;
    return std::exchange(
        state, {.entries = {}, .lost = {}, .losses = {}, .all_losses = std::move(losses)});
  });
  return committed;
}

std::vector<WriteSessionTable::File> WriteSessionTable::all() const {
  return state_.with([](const State& state) {
    std::vector<File> files;
    files.reserve(state.entries.size());
    for (const auto& [key, entry] : state.entries) files.push_back({key, entry.session});
    return files;
  });
}

// Those of files that have a name.
std::vector<WriteSessionTable::File> WriteSessionTable::named() const {
  auto files = all();
  std::erase_if(files, [](const File& file) { return file.session->is_unlinked(); });
  return files;
}

WriteSessionTable::Seen WriteSessionTable::look(const FileKey& key) const {
  // Reads the number first: a session that begins after this line changes it.
  const auto now = generation(key).load(std::memory_order_acquire);
  if (count_.load(std::memory_order_acquire) == 0 && !has_losses_.load(std::memory_order_acquire)) {
    return {nullptr, now};
  }
  return state_.with([&](const State& state) -> Seen {
    const auto at = state.entries.find(key);
    const auto locked = generation(key).load(std::memory_order_relaxed);
    if (at == state.entries.end()) return {nullptr, locked, state.losses.contains(key)};
    return {at->second.session, locked};
  });
}

WrittenBytes WriteSessionTable::written_bytes(const FileKey& key) const {
  const auto seen = look(key);
  if (!seen.session) return seen.has_loss ? WrittenBytes(LostBytes()) : SavedBytes();
  // The result shows below.  A session that cannot be checked reports that to its users.
  static_cast<void>(seen.session->check());
  if (!seen.session->is_lost()) return seen.session;
  return seen.session->is_superseded() ? WrittenBytes(SavedBytes()) : LostBytes();
}

void WriteSessionTable::forget_loss(const FileKey& key) {
  if (!has_losses_.load(std::memory_order_acquire)) return;
  state_.with([&](State& state) {
    state.losses.erase(key);
    note_change(state, key);
  });
}

void WriteSessionTable::note_change(const State& state, const FileKey& key) {
  count_.store(state.entries.size(), std::memory_order_release);
  has_losses_.store(!state.losses.empty(), std::memory_order_release);
  generations_[FileKeyHash{}(key) % kGenerations].fetch_add(1, std::memory_order_release);
}

// The rounds begin with a session, and end when there is none.  A thread waits for the time of the
// next one, and runs the other tasks, too, if the system allows no more threads.  No thread starts
// earlier: the daemon restricts itself before it has threads.  The caller holds `opening_`.
Status WriteSessionTable::start_rounds() {
  has_rounds_ = has_rounds_ || add_round(TaskThreads::Clock::now() + interval_);
  if (has_rounds_) return {};
  return refusal(EAGAIN, "the system allows no more threads, and a writer needs one");
}

bool WriteSessionTable::add_round(TaskThreads::Clock::time_point time) {
  return threads_.add([this] { run_round(); }, time);
}

void WriteSessionTable::run_round() {
  const auto next = TaskThreads::Clock::now() + interval_;
  finish(all());
  const auto hold = opening_.try_take();  // without it, a session may be about to begin
  if (hold && is_empty()) {
    has_rounds_ = false;
  } else {
    add_round(next);
  }
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
  FRAMEFS_CHECK(start_rounds());
  if (auto known = state_.with(join)) return known;
  FRAMEFS_TRY(auto made, make());
  Session before;  // destroyed after the lock
  return state_.with([&](State& state) {
    auto& entry = state.entries[key];
    if (entry.session && entry.session->has_lost_bytes()) {
      state.all_losses.add(entry.session->name());
    }
    if (entry.session && entry.session->has_uncommitted() && entry.writers > 0) {
      state.lost.push_back(std::exchange(entry, {}));
    }
    before = std::exchange(entry.session, made);
    ++entry.writers;
    state.losses.erase(key);
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
  FRAMEFS_CHECK(start_rounds());
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
    if (at == state.entries.end() || --at->second.writers > 0) return false;
    at->second.closed_at = std::chrono::steady_clock::now();
    return true;
  });
  if (!is_last) return;
  overlay_.note_index_room();
  const auto waiting = closed_.with([&](Closed& now) {
    now.files.push_back(key);
    return now.is_running ? 0 : now.files.size();
  });
  // The first closed file begins the batching window, and a full batch ends it.
  if (waiting == 1) commit_closed_after(kGathering);
  if (waiting == kMaxTogether) commit_closed_after(kNow);
}

void WriteSessionTable::note_full(const Session& session) {
  const bool is_first = full_.with([&](Full& now) {
    if (std::ranges::find(now.sessions, session) == now.sessions.end()) {
      now.sessions.push_back(session);
    }
    return !std::exchange(now.is_running, true);
  });
  if (is_first) threads_.add([this] { store_full(); });
}

Status WriteSessionTable::make_room(FrameWriteSession& session, std::uint64_t needed,
                                    Retries& retries) {
  const auto has_room = [&] { return session.has_room(needed); };
  // The bytes of this session come first: a writer of many bytes pays for them.
  FRAMEFS_CHECK(session.make_room(needed, has_room));
  // Then those of the others, the frames with the most bytes first.
  std::vector<std::pair<std::uint64_t, Session>> others;
  for (auto& [key, other] : all()) {
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

void WriteSessionTable::end_unreachable(const FileKey& key) {
  const auto session = find(key);
  if (session && session->is_unlinked()) end_entry(key, true);
}

// Commits the files that no program has open for writing, and ends their sessions.
void WriteSessionTable::end_closed() {
  for (const auto& [key, session] : all()) {
    if (!is_closed(key)) continue;
    // Also waits for the commit of another thread, after which nothing is changed.
    if (session->has_uncommitted()) commit_alone(*session);
    end_entry(key);
  }
}

bool WriteSessionTable::is_closed(const FileKey& key) const {
  return state_.with([&](const State& state) {
    const auto at = state.entries.find(key);
    return at != state.entries.end() && at->second.writers == 0;
  });
}

// Whether the file has been closed for a whole commit interval.  If that is long, or if many
// sessions would wait for it, no file waits.
bool WriteSessionTable::is_quiet(const FileKey& key) const {
  if (interval_ > kMaxQuiet || count_.load() > kMaxWaitingForQuiet) return true;
  return state_.with([&](const State& state) {
    const auto at = state.entries.find(key);
    return at != state.entries.end() &&
           std::chrono::steady_clock::now() - at->second.closed_at >= interval_;
  });
}

// Returns false, and does nothing, if it would have to wait.
bool WriteSessionTable::end_promptly(const FileKey& key) {
  const NoWaitScope scope;
  end_or_compact(key);
  return !scope.has_refused();
}

// Ends the session of a closed file, here or after its compaction.
void WriteSessionTable::end_or_compact(const FileKey& key) {
  // The question below would interrupt a compaction that is under way.
  if (compacting_.with([&](const Keys& now) { return now.contains(key); })) return;
  const auto session = find(key);
  if (!session) return;
  if (session->is_unlinked()) return end_entry(key);
  const auto need = session->may_want_compaction();
  if (!need) return;
  if (*need == CompactionNeed::none) return end_entry(key);
  // The next round at the commit interval asks again.
  if (*need == CompactionNeed::when_quiet && !is_quiet(key)) return;
  if (!compacting_.with([&](Keys& now) { return now.insert(key).second; })) return;
  const auto work = [this, key] {
    compact_closed(key);
    compacting_.with([&](Keys& now) { now.erase(key); });
  };
  if (!compaction_thread_.add(work)) compacting_.with([&](Keys& now) { now.erase(key); });
}

auto WriteSessionTable::hold_closed(const FileKey& key) -> Hold {
  return state_.with([&](State& state) -> Hold {
    const auto at = state.entries.find(key);
    if (at == state.entries.end() || at->second.writers > 0) return {};
    auto mark = at->second.hold.lock();
    if (!mark) at->second.hold = mark = std::make_shared<const char>();
    return {at->second.session, std::move(mark)};
  });
}

void WriteSessionTable::compact_closed(const FileKey& key) {
  {
    const auto held = hold_closed(key);
    if (!held.session) return;  // the last close comes later
    auto& session = *held.session;
    if (!session.is_changed() && !session.is_lost()) {
      const auto is_ending = [this] {
        return is_ending_.load() || overlay_.is_index_room_wanted();
      };
      if (const auto compacted = session.compact(false, is_ending); !compacted) {
        log_failure(session, compacted.error());
      }
    }
  }
  end_entry(key);
}

void WriteSessionTable::end_entry(const FileKey& key, bool is_unreachable) {
  auto [session, mark] = hold_closed(key);
  if (!session) return;
  // The files of a removed frame are gone.  Otherwise this comes before another session of the file
  // can begin, because that session already treats the space as free that is released here.
  const bool may_end = is_unreachable || (!session->is_removed() && session->release_old_states());
  const auto last_stat = session->content_stat();
  if (may_end && last_stat && !session->is_lost()) {
    on_ending_(identity_of(*last_stat), session->shown().ctime);
  }
  Session ended;  // destroyed after the lock
  bool has_loss = false;
  FileIdentity identity;
  state_.with([&](State& state) {
    mark.reset();  // under the lock: of threads that end here at once, one is the last
    if (!may_end) return;
    const auto at = state.entries.find(key);
    if (at == state.entries.end() || at->second.session != session) return;
    if (at->second.writers > 0) return;
    if (!at->second.hold.expired() && !is_unreachable) return;
    // Another thread commits the frame.  Or a commit failed: it is tried again later, as long as it
    // can still succeed.
    if (session->has_uncommitted() && !is_unreachable && !session->is_lost()) return;
    if (const auto st = session->content_stat()) identity = identity_of(*st);
    has_loss = session->has_lost_bytes() && !is_unreachable;
    if (has_loss) {
      state.losses.insert(key);
      state.all_losses.add(session->name());
    }
    ended = std::move(at->second.session);
    state.entries.erase(at);
    note_change(state, key);
  });
  if (!ended) return;
  ended->release_index();
  if (has_loss) log_.warn(ended->name() + ": the latest writes are lost");
  on_end_(key, identity);
}

// Finishes files: commits them, and ends the sessions of the closed ones.  A file is left to a
// thread of its own if its commit takes long, or has to wait for another thread's work on it.
void WriteSessionTable::finish(const std::vector<File>& files) {
  const auto left = commit_small(files);
  // Writers change the sizes meanwhile, and a sort needs keys that stay the same.
  std::vector<std::pair<std::uint64_t, FileKey>> by_size;
  by_size.reserve(left.size());
  for (const auto& file : left) by_size.emplace_back(file.session->unstored_bytes(), file.key);
  std::ranges::sort(by_size, std::ranges::less{}, [](const auto& each) { return each.first; });
  for (const auto& [bytes, key] : by_size) finish_alone(key);
  for (const auto& file : files) {
    const bool is_left = std::ranges::find(left, file.key, &File::key) != left.end();
    if (is_left || !is_closed(file.key)) continue;
    if (!end_promptly(file.key)) finish_alone(file.key);
  }
}

// Finishes a file on a thread of its own.
void WriteSessionTable::finish_alone(const FileKey& key) {
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

void WriteSessionTable::finish_waiting(const FileKey& key) {
  const auto session = find(key);
  if (!session) return;
  if (session->is_changed()) commit_alone(*session);
  if (is_closed(key)) end_or_compact(key);
}

void WriteSessionTable::store_full() {
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

void WriteSessionTable::commit_closed_after(std::chrono::milliseconds delay) {
  threads_.add([this] { commit_closed(); }, TaskThreads::Clock::now() + delay);
}

void WriteSessionTable::commit_closed() {
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
    if (auto session = is_known ? nullptr : find(key)) files.push_back({key, std::move(session)});
  }
  finish(files);
  const auto waiting = closed_.with([](Closed& now) {
    now.is_running = false;
    return now.files.size();
  });
  if (waiting > 0) commit_closed_after(waiting < kMaxTogether ? kGathering : kNow);
}

}  // namespace framefs::fs
