#include "fs/write/write_session_table.h"

#include <algorithm>
#include <utility>

namespace framefs::fs {

WriteSessionTable::WriteSessionTable(Log& log, KeptCtimes& ctimes, OnEnd on_end)
    : log_(log), ctimes_(ctimes), on_end_(std::move(on_end)) {}

void WriteSessionTable::clear() {
  // Destroyed after the lock.
  const auto ended = state_.with([&](State& state) {
    count_.store(0, std::memory_order_release);
    auto losses = state.all_losses;
    return std::exchange(
        state, {.entries = {}, .lost = {}, .losses = {}, .all_losses = std::move(losses)});
  });
}

std::vector<WriteSessionTable::File> WriteSessionTable::all() const {
  return state_.with([](const State& state) {
    std::vector<File> files;
    files.reserve(state.entries.size());
    for (const auto& [key, entry] : state.entries) files.push_back({key, entry.session});
    return files;
  });
}

std::vector<WriteSessionTable::File> WriteSessionTable::named() const {
  auto files = all();
  std::erase_if(files, [](const File& file) { return file.session->is_unlinked(); });
  return files;
}

std::optional<std::chrono::steady_clock::time_point> WriteSessionTable::closed_at(
    const FileKey& key) const {
  using Time = std::optional<std::chrono::steady_clock::time_point>;
  return state_.with([&](const State& state) -> Time {
    const auto at = state.entries.find(key);
    if (at == state.entries.end() || at->second.writers > 0) return std::nullopt;
    return at->second.closed_at;
  });
}

WriteSessionTable::Found WriteSessionTable::find_entry(const FileKey& key) const {
  // Reads the number first: a session that begins after this line changes it.
  const auto now = generation(key).load(std::memory_order_acquire);
  if (is_empty() && !has_losses_.load(std::memory_order_acquire)) return {nullptr, now};
  return state_.with([&](const State& state) -> Found {
    const auto at = state.entries.find(key);
    const auto locked = generation(key).load(std::memory_order_relaxed);
    if (at == state.entries.end()) return {nullptr, locked, state.losses.contains(key)};
    return {at->second.session, locked};
  });
}

WrittenBytes WriteSessionTable::written_bytes(const FileKey& key) const {
  const auto entry = find_entry(key);
  if (!entry.session) return entry.has_loss ? WrittenBytes(LostBytes()) : SavedBytes();
  // The result shows below.  A session that cannot be checked reports that to its users.
  static_cast<void>(entry.session->check());
  if (!entry.session->is_lost()) return entry.session;
  return entry.session->is_superseded() ? WrittenBytes(SavedBytes()) : LostBytes();
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

Result<WriteSessionTable::Session> WriteSessionTable::open(const FileKey& key, const Make& make) {
  const auto join = [&](State& state) -> Session {
    const auto at = state.entries.find(key);
    if (at == state.entries.end() || at->second.session->is_lost()) return nullptr;
    ++at->second.writers;
    return at->second.session;
  };
  if (auto known = state_.with(join)) return known;
  const auto hold = opening_.take();
  if (auto known = state_.with(join)) return known;
  FRAMEFS_TRY(auto made, make());
  Session before;  // destroyed after the lock
  return state_.with([&](State& state) {
    auto& entry = state.entries[key];
    if (entry.session && entry.session->has_lost_bytes()) {
      state.all_losses.add(entry.session->name());
    }
    if (entry.session && !entry.session->is_superseded() && entry.writers > 0) {
      state.lost.push_back(std::exchange(entry, {}));
    }
    before = std::exchange(entry.session, made);
    ++entry.writers;
    state.losses.erase(key);
    note_change(state, key);
    return made;
  });
}

Result<WriteSessionTable::Session> WriteSessionTable::renew(const FileKey& key, const Session& lost,
                                                            const Make& make) {
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

bool WriteSessionTable::close(const FileKey& key, const Session& session) {
  return state_.with([&](State& state) {
    if (close_lost(state, session)) return false;
    const auto at = state.entries.find(key);
    if (at == state.entries.end() || --at->second.writers > 0) return false;
    at->second.closed_at = std::chrono::steady_clock::now();
    return true;
  });
}

WriteSessionTable::Hold WriteSessionTable::hold_closed(const FileKey& key) {
  return state_.with([&](State& state) -> Hold {
    const auto at = state.entries.find(key);
    if (at == state.entries.end() || at->second.writers > 0) return {};
    auto mark = at->second.hold.lock();
    if (!mark) at->second.hold = mark = std::make_shared<const char>();
    return {at->second.session, std::move(mark)};
  });
}

void WriteSessionTable::end_unreachable(const FileKey& key) {
  const auto session = find(key);
  if (session && session->is_unlinked()) end(key, true);
}

void WriteSessionTable::end(const FileKey& key, bool is_unreachable) {
  auto [session, mark] = hold_closed(key);
  if (!session) return;
  // The files of a removed frame are gone.  Otherwise this comes before another session of the file
  // can begin, because that session already treats the space as free that is released here.
  const bool may_end = is_unreachable || (!session->is_removed() && session->release_old_states());
  const auto last_stat = session->content_stat();
  if (may_end && last_stat && !session->is_lost()) {
    ctimes_.keep(identity_of(*last_stat), session->shown().ctime);
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

}  // namespace framefs::fs
