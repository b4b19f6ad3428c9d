#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fs/core/files/file.h"
#include "fs/core/threads/guarded.h"
#include "fs/core/threads/task_threads.h"
#include "fs/tree/nodes/node_locator.h"
#include "fs/write/new_frame_policy.h"

namespace framefs::fs {

// The files that may become arrays, because a rule says so.  ArrayConverter looks at them, on a
// thread of low priority.
// Threads: any number.
class ArrayCandidates {
 public:
  // `is_enabled`: whether the mount may change SOURCE and shows arrays as .npy files only.
  // Lifetime: the other objects outlive this one.
  ArrayCandidates(bool is_enabled, NodeLocator& locator, const NewFramePolicy& new_frames)
      : is_enabled_(is_enabled), locator_(locator), new_frames_(new_frames) {}

  // From now on until stop(), convert() is called once for each note, and takes what is ready.
  // Without a thread for it, the candidates wait for the next note.
  void start(std::function<void()> convert) { convert_ = std::move(convert); }
  // Waits until convert() is not running.
  void stop() { thread_.stop(); }

  // The name below which a path in SOURCE is shown in the mount, and how its array is stored.
  // Nothing if no rule makes an array of it.
  struct Rule {
    std::string shown_name;
    NewFrame frame;
  };
  [[nodiscard]] std::optional<Rule> rule_for(const Node& node) const;

  // To be called for a file that was written or renamed.  No handle of it is open for writing.
  void note(const FileKey& file);
  // To be called when the session of a file has ended.
  void note_end(const FileKey& file);

  // The candidates that are to be looked at.  The table of nodes keeps their nodes until drop().
  using Ready = std::vector<std::pair<FileKey, NodeId>>;
  [[nodiscard]] Ready take_ready();
  // To be called for a candidate that was looked at.  A file that was noted again stays one.
  void drop(const FileKey& file);

 private:
  struct Candidate {
    NodeId node = 0;
    bool is_ready = false;  // it is to be looked at
  };
  using Candidates = std::unordered_map<FileKey, Candidate, FileKeyHash>;

  // Constant after construction and start().
  const bool is_enabled_;
  NodeLocator& locator_;
  const NewFramePolicy& new_frames_;
  std::function<void()> convert_ = [] {};
  // Self-synchronised.
  Guarded<Candidates> candidates_;
  TaskThreads thread_{1, TaskThreads::Priority::low};
};

}  // namespace framefs::fs
