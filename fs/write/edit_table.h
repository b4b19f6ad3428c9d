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
#include "fs/write/frame_edit.h"

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
// An edit lives while somebody has the frame open for writing, and until all of it is committed.
// Threads: any number.
class EditTable {
 public:
  // Told of a frame that is no longer being written, and of the state in which it was left.
  using OnEnd = std::function<void(const FileKey&, const FileIdentity&)>;
  EditTable(OverlayBudget& overlay, Log& log, std::chrono::milliseconds commit_interval,
            OnEnd on_end);
  // Commits everything, durably.
  ~EditTable();
  EditTable(const EditTable&) = delete;
  EditTable& operator=(const EditTable&) = delete;

  using Edit = std::shared_ptr<FrameEdit>;
  // Null where the file is not being written.
  [[nodiscard]] Edit find(const FileKey& key) const;
  // The edit of a file, made by make() where there is none, for one more writer.
  // Errors: those of make().
  Result<Edit> open(const FileKey& key, const std::function<Result<Edit>()>& make);
  // One writer less; the last one's frame is then committed.  Where its last name is gone as well,
  // what was not committed is nobody's any more.
  void close(const FileKey& key);

  // Chunks of it are complete.
  void note_full(const Edit& edit);
  // Stores what was written, of this frame or of others, until there is room for more.
  // Errors: those of storing, when that leaves no room.
  Status make_room(FrameEdit& edit);

 private:
  struct Entry {
    Edit edit;
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
    std::vector<Edit> full;
    std::vector<FileKey> closed;
    bool is_ending = false;
  };

  void serve();
  void end_closed(const std::vector<FileKey>& keys);
  void end_entry(const FileKey& key);
  [[nodiscard]] std::vector<Edit> all() const;
  void commit_together(std::vector<Edit> edits);

  OverlayBudget& overlay_;
  Log& log_;
  const std::chrono::milliseconds interval_;
  const OnEnd on_end_;
  // How many entries there are; who reads 0 needs no lock to know that there is none.  A writer's own
  // open() has ended before anybody can expect to find its edit.
  std::atomic<std::size_t> count_{0};
  Guarded<State> state_;
  Turn opening_;  // so that no edit is made of a state that another one has left behind meanwhile
  Guarded<Work> work_;
  std::jthread thread_;
};

}  // namespace framefs::fs
