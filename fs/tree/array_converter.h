#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fs/core/file.h"
#include "fs/core/guarded.h"
#include "fs/core/log.h"
#include "fs/core/worker_pool.h"
#include "fs/tree/node_locator.h"
#include "fs/tree/open_containers.h"
#include "fs/view/frame_chunks.h"
#include "fs/write/new_frame_policy.h"
#include "fs/write/write_session_table.h"

namespace framefs::fs {

class Namespace;

// Makes arrays of frames that hold a .npy file, if a rule says so.  A frame becomes an array after
// its last handle was closed and all of it is committed, if the array is shown with the same bytes.
// The array is a new file in SOURCE, which takes the place of the frame when it is complete.
//
// One thread does this.  Nobody waits for it: a frame that is opened meanwhile stays as it is until
// it is closed again.
//
// Threads: any number.
class ArrayConverter {
 public:
  // Lifetime: all referenced objects outlive the converter.
  struct Parts {
    NodeLocator& locator;
    const OpenContainers& containers;
    const NewFramePolicy& new_frames;
    WriteSessionTable& sessions;
    Namespace& names;
    WorkerPool& storing_workers;
    ContentIds& content_ids;
    Log& log;
    // They verify checksums: damaged bytes must not get new ones.
    ReadServices reads;
  };
  // `is_enabled`: whether the mount may change SOURCE and shows arrays as .npy files only.
  ArrayConverter(bool is_enabled, const Parts& parts);
  ~ArrayConverter() { stop(); }
  ArrayConverter(const ArrayConverter&) = delete;
  ArrayConverter& operator=(const ArrayConverter&) = delete;

  // To be called for a file that was written or renamed.  No handle of it is open for writing.
  void note(const FileKey& file);
  // To be called when the session of a file has ended.
  void note_end(const FileKey& file);
  // Converts the files that were noted, and `committed`, in the calling thread.  No requests are
  // served any more.
  void finish(const std::vector<FileKey>& committed);

  // The name below which a path in SOURCE is shown in the mount, and how its array is stored.
  // Nothing if no rule makes an array of it.
  struct Rule {
    std::string shown_name;
    NewFrame frame;
  };
  [[nodiscard]] std::optional<Rule> rule_for(const Node& node) const;

 private:
  // A file that may become an array.  The table of nodes keeps its node.
  struct Candidate {
    NodeId node = 0;
    bool is_ready = false;  // it is to be looked at
  };
  // The candidates that are ready.
  struct Work {
    std::vector<std::pair<FileKey, NodeId>> files;
    bool is_ending = false;  // no requests are served any more
  };
  struct State {
    std::unordered_map<FileKey, Candidate, FileKeyHash> candidates;
    bool has_ready = false;
    bool is_ending = false;
    std::jthread thread;

    Work take_ready();
  };
  void run();
  void stop();
  void look_at(const FileKey& file, NodeId id, bool has_ended);
  void drop(const FileKey& file);
  Status convert(Node& node, const Rule& rule, bool has_ended);

  // Constant after construction.
  const bool is_enabled_;
  const Parts parts_;
  // Self-synchronised.
  Guarded<State> state_;
};

}  // namespace framefs::fs
