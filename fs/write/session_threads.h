#pragma once

#include <atomic>
#include <chrono>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fs/core/diagnostics/log.h"
#include "fs/core/files/file.h"
#include "fs/core/threads/guarded.h"
#include "fs/core/threads/task_threads.h"
#include "fs/write/overlay/overlay_budget.h"
#include "fs/write/write_session_table.h"

namespace framefs::fs {

// The background threads of the sessions in a table.  One thread stores chunks that are complete.
// One commits closed files in batches, and one commits everything at regular intervals.  Frames
// whose commit takes long are committed on threads of their own.  One thread compacts frames.
// Without sessions there is none of these threads.
//
// A file has at most one thread of its own at a time, and is compacted once at a time.
// Threads: any number.
class SessionThreads {
 public:
  // Lifetime: the referenced objects outlive the threads.
  SessionThreads(Log& log, OverlayBudget& overlay, WriteSessionTable& table,
                 std::chrono::milliseconds commit_interval);

  // Begins the commits at intervals.  To be called while the table makes a session.
  // Errors: system, EAGAIN.
  Status start();
  // To be called after the last writer of a file has closed it.
  void note_closed(const FileKey& key);
  // To be called when chunks of the session are complete.
  void note_full(const WriteSessionTable::Session& session);
  // Returns when the threads have ended.  Drops the work that none of them has begun.
  void stop();

 private:
  using Session = WriteSessionTable::Session;
  using File = WriteSessionTable::File;
  struct Full {
    std::vector<Session> sessions;
    bool is_running = false;  // store_full(), or it is about to
  };
  struct Closed {
    std::vector<FileKey> files;
    bool is_running = false;  // commit_closed()
  };
  using Keys = std::unordered_set<FileKey, FileKeyHash>;
  // The files that are being finished on threads of their own, and whether each must be finished
  // once more afterwards.
  using Alone = std::unordered_map<FileKey, bool, FileKeyHash>;

  bool add_round(TaskThreads::Clock::time_point time);
  void run_round();
  void store_full();
  void commit_closed_after(std::chrono::milliseconds delay);
  void commit_closed();
  void finish(const std::vector<File>& files);
  void finish_alone(const FileKey& key);
  void finish_waiting(const FileKey& key);
  [[nodiscard]] bool is_quiet(const FileKey& key) const;
  bool end_promptly(const FileKey& key);
  void end_or_compact(const FileKey& key);
  void compact_closed(const FileKey& key);

  Log& log_;
  OverlayBudget& overlay_;
  WriteSessionTable& table_;
  const std::chrono::milliseconds interval_;
  Guarded<Full> full_;
  Guarded<Closed> closed_;
  Guarded<Keys> compacting_;  // or waiting for it
  Guarded<Alone> alone_;
  // Used only while the table makes a session, or keeps others from making one.
  bool has_rounds_ = false;
  std::atomic<bool> is_ending_{false};
  TaskThreads threads_;
  TaskThreads alone_threads_;
  TaskThreads compaction_thread_;
};

}  // namespace framefs::fs
