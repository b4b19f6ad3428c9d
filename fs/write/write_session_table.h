#pragma once

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

// A file of SOURCE, whatever its names.
struct FileKey {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileKey&) const = default;
};

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
  [[nodiscard]] Session find(const FileKey& key) const;
  // The session of a file, made by make() where there is none, for one more writer.
  // Errors: those of make().
  Result<Session> open(const FileKey& key, const std::function<Result<Session>()>& make);
  // One writer less; the last one's frame is then committed.  Where its last name is gone as well,
  // what was not committed is nobody's any more.
  void close(const FileKey& key);

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
  struct KeyHash {
    std::size_t operator()(const FileKey& key) const noexcept {
      return std::hash<std::uint64_t>{}(key.inode * 0x9e3779b97f4a7c15ULL + key.device);
    }
  };
  struct State {
    std::unordered_map<FileKey, Entry, KeyHash> entries;
  };
  struct Work {
    std::vector<Session> full;
    std::vector<FileKey> closed;
    bool is_ending = false;
  };

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
  Guarded<State> state_;
  CommitLock
      opening_;  // so that no session is made of a state that another one has left behind meanwhile
  Guarded<Work> work_;
  std::jthread thread_;
};

}  // namespace framefs::fs
