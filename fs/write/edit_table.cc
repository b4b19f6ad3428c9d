#include "fs/write/edit_table.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "fs/core/background_thread.h"

namespace framefs::fs {
namespace {

// So many frames are committed with one sync: those at the end of the batch wait for all of it.
#ifdef FRAMEFS_TSAN
constexpr std::size_t kMostTogether = 48;  // it knows of no thread that holds more than 64 locks
#else
constexpr std::size_t kMostTogether = 256;
#endif
// So long a closed file waits for others, which may be closed right behind it.
constexpr std::chrono::milliseconds kGathering{100};

// Makes all durable that was written to the filesystems of the files it is asked for: each once, for
// in SOURCE others may be mounted.
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

bool is_unlinked(const FrameEdit& edit) {
  const auto st = edit.content_stat();
  return st && st->st_nlink == 0;
}

}  // namespace

EditTable::EditTable(OverlayBudget& overlay, Log& log, std::chrono::milliseconds commit_interval,
                     OnEnd on_end)
    : overlay_(overlay), log_(log), interval_(commit_interval), on_end_(std::move(on_end)) {
  thread_ = background_thread([this](const std::stop_token&) { serve(); });
}

EditTable::~EditTable() {
  work_.with_and_wake([](Work& work) { work.is_ending = true; });
  thread_.join();
  auto edits = all();
  std::erase_if(edits, [](const Edit& edit) { return is_unlinked(*edit); });
  commit_together(edits);
  FilesystemSyncs syncs;
  for (const auto& edit : edits) {
    const auto synced = syncs.of(edit->content_fd());
    if (!synced) log_.failure(edit->name(), synced.error());
    if (!synced || edit->is_changed()) {
      log_.warn(edit->name() + ": what was written last is lost");
    }
  }
}

std::vector<EditTable::Edit> EditTable::all() const {
  return state_.with([](const State& state) {
    std::vector<Edit> edits;
    for (const auto& [key, entry] : state.entries) edits.push_back(entry.edit);
    return edits;
  });
}

EditTable::Edit EditTable::find(const FileKey& key) const {
  if (count_.load(std::memory_order_acquire) == 0) return nullptr;
  return state_.with([&](const State& state) {
    const auto at = state.entries.find(key);
    return at == state.entries.end() ? nullptr : at->second.edit;
  });
}

Result<EditTable::Edit> EditTable::open(const FileKey& key,
                                        const std::function<Result<Edit>()>& make) {
  const auto join = [&](State& state) -> Edit {
    const auto at = state.entries.find(key);
    if (at == state.entries.end()) return nullptr;
    ++at->second.writers;
    return at->second.edit;
  };
  if (auto known = state_.with(join)) return known;
  const auto hold = opening_.take();
  if (auto known = state_.with(join)) return known;
  FRAMEFS_TRY(auto made, make());
  return state_.with([&](State& state) {
    state.entries.emplace(key, Entry{made, 1});
    count_.store(state.entries.size(), std::memory_order_release);
    return made;
  });
}

void EditTable::close(const FileKey& key) {
  const bool is_last = state_.with([&](State& state) {
    const auto at = state.entries.find(key);
    return at != state.entries.end() && --at->second.writers == 0;
  });
  if (!is_last) return;
  const auto waiting = work_.with([&](Work& work) {
    work.closed.push_back(key);
    return work.closed.size();
  });
  // With the first it begins to gather, with the last there are enough.
  if (waiting == 1 || waiting == kMostTogether) work_.wake();
}

void EditTable::note_full(const Edit& edit) {
  work_.with_and_wake([&](Work& work) {
    if (std::ranges::find(work.full, edit) == work.full.end()) work.full.push_back(edit);
  });
}

Status EditTable::make_room(FrameEdit& edit) {
  if (!overlay_.is_full()) return {};
  // Its own bytes first: who writes much works for it.
  FRAMEFS_CHECK(edit.flush(FrameImage::Which::all));
  Status status;
  for (const auto& other : all()) {
    if (!overlay_.is_full()) return {};
    if (const auto flushed = other->flush(FrameImage::Which::all); !flushed) status = flushed;
  }
  if (!overlay_.is_full()) return {};
  if (edit.is_removed()) return codec::fail(codec::Errc::no_space, "overlay of a removed frame");
  return status;
}

// One sync for all that has to be durable before any of them is published.  Failures are logged, and the
// edits stay.
void EditTable::commit_together(std::vector<Edit> edits) {
  // Who takes many turns takes them in one order.
  std::ranges::sort(edits);
  for (std::size_t done = 0; done < edits.size(); done += kMostTogether) {
    const auto count = std::min(kMostTogether, edits.size() - done);
    std::vector<std::pair<Edit, FrameEdit::Commit>> commits;
    for (const auto& edit : std::span(edits).subspan(done, count)) {
      const bool was_lost = edit->is_lost();  // and the log has it already
      auto begun = edit->begin_commit();
      if (!begun) {
        if (!was_lost) log_.failure(edit->name(), begun.error());
      } else if (*begun) {
        // Also where its last name is gone: who has it open goes on reading it, and a crash may bring
        // the name back.
        commits.emplace_back(edit, std::move(**begun));
      }
    }
    const bool is_alone = commits.size() == 1;
    FilesystemSyncs syncs;
    for (auto& [edit, commit] : commits) {
      const auto synced = is_alone ? commit.sync() : syncs.of(edit->content_fd());
      const auto finished = edit->finish_commit(commit, synced);
      if (!finished) log_.failure(edit->name(), finished.error());
    }
  }
}

void EditTable::end_entry(const FileKey& key) {
  const auto edit = find(key);
  if (!edit) return;
  const bool is_gone = is_unlinked(*edit);
  if (!is_gone && !edit->is_changed() && !edit->is_lost()) {
    if (const auto compacted = edit->compact(false); !compacted) {
      log_.failure(edit->name(), compacted.error());
    }
  }
  // While nobody can begin another edit of the file, to which what goes now would be free already.
  edit->wind_up();
  Edit ended;  // destroyed after the lock
  FileIdentity identity;
  state_.with([&](State& state) {
    const auto at = state.entries.find(key);
    if (at == state.entries.end() || at->second.writers > 0) return;
    // What could not be committed is tried again later, for as long as there is hope.
    if (edit->is_changed() && !is_gone && !edit->is_lost()) return;
    if (const auto st = edit->content_stat()) identity = identity_of(*st);
    ended = std::move(at->second.edit);
    state.entries.erase(at);
    count_.store(state.entries.size(), std::memory_order_release);
  });
  if (!ended) return;
  if ((ended->is_changed() || ended->is_lost()) && !is_gone) {
    log_.warn(ended->name() + ": what was written last is lost");
  }
  on_end_(key, identity);
}

void EditTable::end_closed(const std::vector<FileKey>& keys) {
  // A file may have been opened and closed several times meanwhile.
  std::vector<Edit> edits;
  for (const auto& key : keys) {
    auto edit = find(key);
    if (edit && std::ranges::find(edits, edit) == edits.end()) edits.push_back(std::move(edit));
  }
  commit_together(std::move(edits));
  for (const auto& key : keys) end_entry(key);
}

void EditTable::serve() {
  auto next_round = std::chrono::steady_clock::now() + interval_;
  while (true) {
    const auto is_urgent = [](const Work& now) {
      return now.is_ending || !now.full.empty() || now.closed.size() >= kMostTogether;
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
    for (const auto& edit : work.full) {
      // What fails is reported by the next write, sync or close that needs it stored.
      static_cast<void>(edit->flush(FrameImage::Which::full));
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
