#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "fs/core/file.h"
#include "fs/core/guarded.h"
#include "fs/core/log.h"
#include "fs/core/may_wait.h"
#include "fs/core/retries.h"
#include "fs/core/task_threads.h"
#include "fs/write/frame_write_session.h"
#include "fs/write/losses.h"
#include "fs/write/ownership/session_lock.h"
#include "fs/write/written_bytes.h"

namespace framefs::fs {

// All frames that are being written, and their background threads.  One thread stores chunks that
// are complete.  One commits closed files in batches, and one commits everything at regular
// intervals.  Frames whose commit takes long are committed on threads of their own.  One
// thread compacts frames.  Without sessions there is none of these threads.
//
// A session lives while any writer has the frame open, and until all of it is committed, or until
// nothing can read the frame any more: the file has no name, and the kernel does not know it.
// Threads: any number.
class WriteSessionTable {
 public:
  // Called when a frame is no longer being written, with the state in which it was left.
  using OnEnd = std::function<void(const FileKey&, const FileIdentity&)>;
  // Called before that, with the state that the frame has if it is not written any more, and the
  // time of the last change that users see.
  using OnEnding = std::function<void(const FileIdentity&, const timespec& ctime)>;
  // The overlay is that of all sessions.  Lifetime: `log` and `overlay` outlive the table.
  WriteSessionTable(
      Log& log, OverlayBudget& overlay, std::chrono::milliseconds commit_interval, OnEnd on_end,
      OnEnding on_ending = [](const auto&...) {});
  ~WriteSessionTable() { static_cast<void>(finish()); }
  WriteSessionTable(const WriteSessionTable&) = delete;
  WriteSessionTable& operator=(const WriteSessionTable&) = delete;

  using Session = std::shared_ptr<FrameWriteSession>;
  // Null if the file is not being written.  The session may be lost: see written_bytes().
  [[nodiscard]] Session find(const FileKey& key) const { return look(key).session; }
  // Where the bytes are that were written to the file.  A loss is remembered until a writer opens
  // the file anew or the file has no name left.
  [[nodiscard]] WrittenBytes written_bytes(const FileKey& key) const;
  // Whether no file is being written.
  [[nodiscard]] bool is_empty() const noexcept { return count_.load() == 0; }
  // Runs body(session), with null if the file is not being written.  Runs it again if a session of
  // the file has begun or ended meanwhile.  Hence all that the body finds in SOURCE and all that it
  // takes from the session belong to one moment.  Every size, time and state that the daemon
  // answers comes from such a body.  The body must look at SOURCE itself, and not use earlier
  // results.
  template <class Body>
  auto observe(const FileKey& key, const Body& body) const {
    while (true) {
      const auto seen = look(key);
      auto result = body(seen.session);
      if (generation(key).load(std::memory_order_acquire) == seen.generation) return result;
    }
  }
  // Returns the session of a file and counts one more writer.  Calls make() if there is no session,
  // or only a lost one.
  // Errors: those of make().
  Result<Session> open(const FileKey& key, const std::function<Result<Session>()>& make);
  // Returns the session that has replaced `lost`, a session that lost no bytes.  Calls make() if no
  // session has replaced it yet.  The new session serves all writers of `lost`.
  // Errors: those of make().
  Result<Session> renew(const FileKey& key, const Session& lost,
                        const std::function<Result<Session>()>& make);
  // Counts one writer of `session` less.  After the last writer has closed, the frame is committed.
  void close(const FileKey& key, const Session& session);

  // Runs body(), () -> Status, while no program writes the file and none can begin to.  Does not
  // wait.
  // Errors: system, EBUSY if the file has a session, EAGAIN if a session is being opened, EIO if
  //   bytes of the file are lost; those of the body.
  template <class Body>
  Status without_session(const FileKey& key, const Body& body) {
    const auto hold = opening_.try_take();
    if (!hold) return system_error_of(EAGAIN, "file that may be opened");
    const auto seen = look(key);
    if (seen.session) return system_error_of(EBUSY, "file that is being written");
    if (seen.has_loss) return LostBytes().status();
    return body();
  }

  // Ends all sessions: commits everything, durably.  Returns the files that have no session any
  // more.  No session may begin afterwards.
  std::vector<FileKey> finish();

  // To be called when the kernel does not know the file any more.  If the file has neither a name
  // nor a writer, no process can read it: its session ends, and uncommitted bytes are dropped.
  void end_unreachable(const FileKey& key);

  // Runs body(), () -> Result<...>, which opens or extends a frame.  If there is no memory for the
  // index, commits the frames that are closed, and runs it again.  A frame whose close(2) has
  // returned may still be open here: the kernel reports the close in the background.  Hence waits
  // for room for a short time, whichever way it appears.
  // Errors: those of the body; would_wait().
  template <class Body>
  auto with_index_room(const Body& body) -> decltype(body()) {
    std::optional<std::uint64_t> rooms;  // before the last attempt to make room
    for (Retries retries;;) {
      {
        HeldFailures failures;
        auto result = body();
        const bool lacks_room = !result && result.error().sys == ENOMEM;
        if (!lacks_room || !retries.are_left()) return result;
        const auto end = std::chrono::steady_clock::now() + kLongestClose;
        if (may_wait() && rooms && !overlay_.wait_for_index_room(*rooms, end)) return result;
        failures.forget();  // the body runs again
      }
      if (!may_wait()) return std::unexpected(would_wait().error());
      rooms = overlay_.index_rooms();
      end_closed();
    }
  }

  // Commits everything durably.  Returns the files whose bytes were lost since the table exists,
  // and those that could not be committed.
  Losses commit_all();
  // The files whose bytes were lost since the table exists, without the present sessions.
  [[nodiscard]] Losses losses() const {
    return state_.with([](const State& state) { return state.all_losses; });
  }

  // To be called when a file has no name left: another file may get its inode.
  void forget_loss(const FileKey& key);

  // To be called when chunks of the session are complete.
  void note_full(const Session& session);
  // Runs write(), () -> Result<FrameWriteSession::Written>, and stores written bytes, of this frame
  // or of others, until the overlay has room for it.
  // Errors: those of write(); those of storing, when that leaves no room; would_wait().
  template <class Write>
  Result<FrameWriteSession::Written> write_with_room(FrameWriteSession& session,
                                                     const Write& write) {
    for (Retries retries;;) {
      auto written = with_index_room(write);
      if (!written || written->missing_room == 0) return written;
      if (!may_wait()) return std::unexpected(would_wait().error());
      FRAMEFS_CHECK(make_room(session, written->missing_room, retries));
    }
  }

 private:
  struct Entry {
    Session session;
    std::uint64_t writers = 0;
    std::chrono::steady_clock::time_point closed_at{};  // by the last writer
    std::weak_ptr<const void> hold;                     // null unless a Hold lives
  };
  // The session of a closed file, for a thread that ends or compacts it.  None of these threads may
  // meet another session of the file, so the session stays until the last of them is done.
  struct Hold {
    Session session;  // null if there is none, or if it has a writer
    std::shared_ptr<const void> mark;
  };
  using Keys = std::unordered_set<FileKey, FileKeyHash>;
  struct State {
    std::unordered_map<FileKey, Entry, FileKeyHash> entries;
    // Sessions that others have replaced, and whose writers do not know it yet.
    std::vector<Entry> lost;
    // Files without a session whose bytes are lost.
    Keys losses;
    Losses all_losses;
  };
  struct Full {
    std::vector<Session> sessions;
    bool is_running = false;  // store_full(), or it is about to
  };
  struct File {
    FileKey key;
    Session session;
  };
  struct Closed {
    std::vector<FileKey> files;
    bool is_running = false;  // commit_closed()
  };
  // The files that are being finished on threads of their own, and whether each must be finished
  // once more afterwards.
  using Alone = std::unordered_map<FileKey, bool, FileKeyHash>;
  // The session of a file, and the counter of sessions begun and ended.  Several files share a
  // counter.
  struct Seen {
    Session session;
    std::uint64_t generation = 0;
    bool has_loss = false;  // without a session
  };
  [[nodiscard]] Seen look(const FileKey& key) const;

  // Large enough that work on other files seldom makes observe() run a body again.
  static constexpr std::size_t kGenerations = 1024;
  using Generation = std::atomic<std::uint64_t>;
  [[nodiscard]] const Generation& generation(const FileKey& key) const noexcept {
    return generations_[FileKeyHash{}(key) % kGenerations];
  }
  // `state` proves that the caller holds its lock.
  void note_change(const State& state, const FileKey& key);

  Status make_room(FrameWriteSession& session, std::uint64_t needed, Retries& retries);
  static bool close_lost(State& state, const Session& session);
  // Errors: system, EAGAIN.
  Status start_rounds();
  bool add_round(TaskThreads::Clock::time_point time);
  void run_round();
  void store_full();
  void commit_closed_after(std::chrono::milliseconds delay);
  void commit_closed();
  void compact_closed(const FileKey& key);
  void finish(const std::vector<File>& files);
  void finish_alone(const FileKey& key);
  void finish_waiting(const FileKey& key);
  // write_session_batches.cc
  std::vector<File> commit_small(const std::vector<File>& files);
  void commit_alone(FrameWriteSession& session);
  void commit_durably(const std::vector<File>& files);
  void log_failure(const FrameWriteSession& session, const codec::Error& error);
  struct Batch;
  bool add_to_batch(const Session& session, Batch& batch);
  void finish_batch(const Batch& batch);

  [[nodiscard]] bool is_closed(const FileKey& key) const;
  [[nodiscard]] bool is_quiet(const FileKey& key) const;
  bool end_promptly(const FileKey& key);
  void end_or_compact(const FileKey& key);
  void end_closed();
  Hold hold_closed(const FileKey& key);
  void end_entry(const FileKey& key, bool is_unreachable = false);
  [[nodiscard]] std::vector<File> all() const;
  [[nodiscard]] std::vector<File> named() const;

  // The number of frames in a batch: every frame of the batch waits for the whole batch.
  static constexpr std::size_t kMaxTogether = 256;
  // A close takes less on a machine that is busy with other work.
  static constexpr std::chrono::seconds kLongestClose{1};

  Log& log_;
  OverlayBudget& overlay_;
  const std::chrono::milliseconds interval_;
  const OnEnd on_end_;
  const OnEnding on_ending_;
  // The number of entries.  A thread that reads 0 needs no lock to know that there is none.  A
  // writer's own open() has returned before any thread can expect to find its session.
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> has_losses_{false};  // the same for losses
  // Changed under the lock of `state_`, with release order.  A reader that sees the same number
  // before and after its work knows that no session of its file has begun or ended in between.
  std::array<Generation, kGenerations> generations_{};
  Guarded<State> state_;
  SessionLock opening_;  // keeps make() from using a state that another session has replaced
  Guarded<Full> full_;
  Guarded<Closed> closed_;
  Guarded<Keys> compacting_;  // or waiting for it
  Guarded<Alone> alone_;
  bool has_rounds_ = false;  // with `opening_`
  std::atomic<bool> is_ending_{false};
  TaskThreads threads_;
  TaskThreads alone_threads_;
  TaskThreads compaction_thread_;
};

}  // namespace framefs::fs
