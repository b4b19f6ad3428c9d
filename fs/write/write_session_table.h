#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "fs/core/file.h"
#include "fs/core/guarded.h"
#include "fs/core/log.h"
#include "fs/write/frame_write_session.h"

namespace framefs::fs {

// All frames that are being written, and the thread that works for them in the background: it stores
// chunks that are complete, commits what was closed, many files with one sync, and now and then
// everything.
//
// a session lives while somebody has the frame open for writing, and until all of it is committed.
// Threads: any number.
class WriteSessionTable {
 public:
  // Told of a frame that is no longer being written, and of the state in which it was left.
  using OnEnd = std::function<void(const FileKey&, const FileIdentity&)>;
  WriteSessionTable(OverlayBudget& overlay, Log& log, std::chrono::milliseconds commit_interval,
                    OnEnd on_end);
  // Commits everything, durably.
  ~WriteSessionTable();
  WriteSessionTable(const WriteSessionTable&) = delete;
  WriteSessionTable& operator=(const WriteSessionTable&) = delete;

  using Session = std::shared_ptr<FrameWriteSession>;
  // Null where the file is not being written.
  [[nodiscard]] Session find(const FileKey& key) const { return look(key).session; }
  // Runs body(session), with null where the file is not being written, and runs it again while a
  // session of the file has begun or ended meanwhile.  Hence what the body finds in SOURCE and what
  // it takes from the session belong to one moment: every size, time and state that is answered is
  // made by such a body.  The body must look at SOURCE itself, and not use what was found before.
  template <class Body>
  auto observe(const FileKey& key, const Body& body) const {
    while (true) {
      const auto seen = look(key);
      auto result = body(seen.session);
      if (generation(key).load(std::memory_order_acquire) == seen.generation) return result;
    }
  }
  // The session of a file, made by make() where there is none, or none but a lost one, for one more
  // writer.
  // Errors: those of make().
  Result<Session> open(const FileKey& key, const std::function<Result<Session>()>& make);
  // The session that has taken the place of `lost`, of which nothing was lost, for all of its writers;
  // or that takes it now, made by make().  Errors: those of make().
  Result<Session> renew(const FileKey& key, const Session& lost,
                        const std::function<Result<Session>()>& make);
  // One writer of `session` less; the last one's frame is then committed.  Where its last name is gone
  // as well, what was not committed is nobody's any more.
  void close(const FileKey& key, const Session& session);

  // Chunks of it are complete.
  void note_full(const Session& session);
  // Stores what was written, of this frame or of others, until there is room for more.
  // Errors: those of storing, when that leaves no room.
  Status make_room(FrameWriteSession& session);

 private:
  struct Entry {
    Session session;
    std::uint64_t writers = 0;
  };
  struct State {
    std::unordered_map<FileKey, Entry, FileKeyHash> entries;
    // Whose place others have taken, while their writers have yet to be told.
    std::vector<Entry> lost;
  };
  struct Work {
    std::vector<Session> full;
    std::vector<FileKey> closed;
    bool is_ending = false;
  };

  // The session of a file, and how many have begun and ended so far of the files that share a counter.
  struct Seen {
    Session session;
    std::uint64_t generation = 0;
  };
  [[nodiscard]] Seen look(const FileKey& key) const;

  // Enough that work on other files seldom makes observe() repeat itself.
  static constexpr std::size_t kGenerations = 1024;
  using Generation = std::atomic<std::uint64_t>;
  [[nodiscard]] const Generation& generation(const FileKey& key) const noexcept {
    return generations_[FileKeyHash{}(key) % kGenerations];
  }
  // `state` shows that the caller holds its lock.
  void note_change(const State& state, const FileKey& key);

  static bool close_lost(State& state, const Session& session);
  void serve();
  void end_closed(const std::vector<FileKey>& keys);
  void end_entry(const FileKey& key);
  [[nodiscard]] std::vector<Session> all() const;
  void commit_together(std::vector<Session> sessions);

  OverlayBudget& overlay_;
  Log& log_;
  const std::chrono::milliseconds interval_;
  const OnEnd on_end_;
  // How many entries there are; who reads 0 needs no lock to know that there is none.  A writer's own
  // open() has ended before anybody can expect to find its session.
  std::atomic<std::size_t> count_{0};
  // Changed under the lock of `state_`, by release: a reader that sees the same number before and
  // after its work knows that no session of its file has begun or ended in between.
  std::array<Generation, kGenerations> generations_{};
  Guarded<State> state_;
  CommitLock
      opening_;  // so that no session is made of a state that another one has left behind meanwhile
  Guarded<Work> work_;
  std::jthread thread_;
};

}  // namespace framefs::fs
