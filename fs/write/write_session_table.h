#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fs/core/diagnostics/log.h"
#include "fs/core/files/file.h"
#include "fs/core/threads/guarded.h"
#include "fs/write/frame_write_session.h"
#include "fs/write/kept_ctimes.h"
#include "fs/write/losses.h"
#include "fs/write/ownership/session_lock.h"
#include "fs/write/written_bytes.h"

namespace framefs::fs {

// Which session each file has, and which files have lost written bytes.
//
// A session lives while any writer has the frame open, and until all of it is committed, or until
// nothing can read the frame any more: the file has no name, and the kernel does not know it.
// Threads: any number.
class WriteSessionTable {
 public:
  // Called when a frame is no longer being written, with the state in which it was left.
  using OnEnd = std::function<void(const FileKey&, const FileIdentity&)>;
  // `ctimes` gets the time of the last change that users see of each frame whose session ends.
  // Lifetime: `log` and `ctimes` outlive the table.
  WriteSessionTable(Log& log, KeptCtimes& ctimes, OnEnd on_end);

  using Session = std::shared_ptr<FrameWriteSession>;
  // Null if the file is not being written.  The session may be lost: see written_bytes().
  [[nodiscard]] Session find(const FileKey& key) const { return find_entry(key).session; }
  // Where the bytes are that were written to the file.  A loss is remembered until a writer opens
  // the file anew or the file has no name left.
  [[nodiscard]] WrittenBytes written_bytes(const FileKey& key) const;
  // The number of files that are being written.
  [[nodiscard]] std::size_t size() const noexcept { return count_.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_empty() const noexcept { return size() == 0; }
  // Runs body(session), with null if the file is not being written.  Runs it again if a session of
  // the file has begun or ended meanwhile.  Hence all that the body finds in SOURCE and all that it
  // takes from the session belong to one moment.  Every size, time and state that the daemon
  // answers comes from such a body.  The body must probe SOURCE itself, and not use earlier
  // results.
  template <class Body>
  auto snapshot(const FileKey& key, const Body& body) const {
    while (true) {
      const auto entry = find_entry(key);
      auto result = body(entry.session);
      if (generation(key).load(std::memory_order_acquire) == entry.generation) return result;
    }
  }
  struct File {
    FileKey key;
    Session session;
  };
  [[nodiscard]] std::vector<File> all() const;
  // Those of files that have a name.
  [[nodiscard]] std::vector<File> named() const;
  // When the last writer closed the file.  Nothing if it has a writer, or no session.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> closed_at(
      const FileKey& key) const;

  // Makes a session.  No other session is made meanwhile.
  using Make = std::function<Result<Session>()>;
  // Returns the session of a file and counts one more writer.  Calls make() if there is no session,
  // or only a lost one.
  // Errors: those of make().
  Result<Session> open(const FileKey& key, const Make& make);
  // Returns the session that has replaced `lost`, a session that lost no bytes.  Calls make() if no
  // session has replaced it yet.  The new session serves all writers of `lost`.
  // Errors: those of make().
  Result<Session> renew(const FileKey& key, const Session& lost, const Make& make);
  // Counts one writer of `session` less.  Returns whether it was the file's last one.
  bool close(const FileKey& key, const Session& session);

  // Runs body(), () -> Status, while no program writes the file and none can begin to.  Does not
  // wait.
  // Errors: system, EBUSY if the file has a session, EAGAIN if a session is being opened, EIO if
  //   bytes of the file are lost; those of the body.
  template <class Body>
  Status without_session(const FileKey& key, const Body& body) {
    const auto hold = opening_.try_take();
    if (!hold) return system_error_of(EAGAIN, "file that may be opened");
    const auto entry = find_entry(key);
    if (entry.session) return system_error_of(EBUSY, "file that is being written");
    if (entry.has_loss) return LostBytes().status();
    return body();
  }
  // Runs body() while no file is being written and none can begin to be.  Returns false, and does
  // not run it, if there is a session or one is being opened.
  template <class Body>
  bool without_sessions(const Body& body) {
    const auto hold = opening_.try_take();
    if (!hold || !is_empty()) return false;
    body();
    return true;
  }

  // The session of a closed file, for a thread that ends or compacts it.  None of these threads may
  // meet another session of the file, so the session stays until the last of them is done.
  struct Hold {
    Session session;  // null if there is none, or if it has a writer
    std::shared_ptr<const void> mark;
  };
  [[nodiscard]] Hold hold_closed(const FileKey& key);
  // Ends the session of a file that has no writer, if everything is committed or can never be.
  void end(const FileKey& key) { end(key, false); }
  // To be called when the kernel does not know the file any more.  If the file has neither a name
  // nor a writer, no process can read it: its session ends, and uncommitted bytes are dropped.
  void end_unreachable(const FileKey& key);
  // Forgets all sessions, as they are.  The losses stay.
  void clear();

  // The files whose bytes were lost since the table exists, without the present sessions.
  [[nodiscard]] Losses losses() const {
    return state_.with([](const State& state) { return state.all_losses; });
  }
  // Notes that bytes of the file with this name are lost.
  void add_loss(const std::string& name) {
    state_.with([&](State& state) { state.all_losses.add(name); });
  }
  // To be called when a file has no name left: another file may get its inode.
  void forget_loss(const FileKey& key);

 private:
  struct Entry {
    Session session;
    std::uint64_t writers = 0;
    std::chrono::steady_clock::time_point closed_at{};  // by the last writer
    std::weak_ptr<const void> hold;                     // null unless a Hold lives
  };
  struct State {
    std::unordered_map<FileKey, Entry, FileKeyHash> entries;
    // Sessions that others have replaced, and whose writers do not know it yet.
    std::vector<Entry> lost;
    // Files without a session whose bytes are lost.
    std::unordered_set<FileKey, FileKeyHash> losses;
    Losses all_losses;
  };
  // The session of a file, and the counter of sessions begun and ended.  Several files share a
  // counter.
  struct Found {
    Session session;
    std::uint64_t generation = 0;
    bool has_loss = false;  // without a session
  };
  [[nodiscard]] Found find_entry(const FileKey& key) const;

  // Large enough that work on other files seldom makes snapshot() run a body again.
  static constexpr std::size_t kGenerations = 1024;
  using Generation = std::atomic<std::uint64_t>;
  [[nodiscard]] const Generation& generation(const FileKey& key) const noexcept {
    return generations_[FileKeyHash{}(key) % kGenerations];
  }
  // `state` proves that the caller holds its lock.
  void note_change(const State& state, const FileKey& key);
  static bool close_lost(State& state, const Session& session);
  void end(const FileKey& key, bool is_unreachable);

  Log& log_;
  KeptCtimes& ctimes_;
  const OnEnd on_end_;
  // The number of entries.  A thread that reads 0 needs no lock to know that there is none.  A
  // writer's own open() has returned before any thread can expect to find its session.
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> has_losses_{false};  // the same for losses
  // Changed under the lock of `state_`, with release order.  A reader that sees the same number
  // before and after its work knows that no session of its file has begun or ended in between.
  std::array<Generation, kGenerations> generations_{};
  Guarded<State> state_;
  SessionLock opening_;  // keeps make() from using a state that another session has replaced
};

}  // namespace framefs::fs
