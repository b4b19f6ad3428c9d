#pragma once

#include <memory>
#include <string>

#include "fs/source/blosc2_lock.h"
#include "fs/source/directory_names.h"
#include "fs/tree/nodes/node_locator.h"
#include "fs/write/write_session_table.h"

namespace framefs::fs {

// The lock files of the frames and containers of a mount.
// Threads: any number.
class LockFiles {
 public:
  // The options for lock files.
  struct Use {
    bool creates = false;  // writers make lock files that are missing
    bool shares = true;    // readers respect them
  };
  // Lifetime: all referenced objects outlive the `LockFiles`.
  LockFiles(const NodeLocator& locator, const WriteSessionTable& sessions,
            DirectoryNames& directory_names, Use use)
      : locator_(locator), sessions_(sessions), directory_names_(directory_names), use_(use) {}

  // The lock of a node's frame, for a writer.  It is that of the name under which the node was seen
  // last.  A frame that has lost this name has none.
  [[nodiscard]] Blosc2Lock of(const Node& node, bool is_sparse) const;
  // The lock of the frame `frame` with the lock file `name` in a directory that is open in SOURCE.
  // Lifetime: the directory stays open.
  [[nodiscard]] Blosc2Lock in(int directory, const std::string& name,
                              const struct stat& frame) const;

  // Locks the frame of a node for one read, if it has a lock file and this mount does not own the
  // frame.  `source` is the node's open backing file.  After a change by another program, the next
  // view of the node is a new one.
  // Looks for a lock file where the node's content is new, or `always`.
  // Errors, which are logged: EBUSY if a program changes the frame for too long; EINTR; system.
  [[nodiscard]] Result<Blosc2Lock> share(Node& node, const BackingFile& source,
                                         bool always = false) const;
  // Whether the node had a lock file when share() looked for it last.
  [[nodiscard]] static bool has_lock_file(const Node& node) {
    return node.state.with([](const Node::State& state) { return state.lock_file.exists(); });
  }
  // Whether share() should be called once more, because the node's content is new.
  [[nodiscard]] static bool is_due(const Node& node);

 private:
  [[nodiscard]] Blosc2Lock::Opened open(const std::string& frame, const NodeKey& key,
                                        bool is_sparse, int flags) const;
  [[nodiscard]] Result<UniqueFd> create(const std::string& path, const std::string& frame,
                                        const NodeKey& key, int flags) const;
  [[nodiscard]] Blosc2Lock::Opened open_of(const Node& node, bool is_sparse, int flags) const;
  [[nodiscard]] Result<Blosc2Lock> try_share(Node& node, const BackingFile& source,
                                             bool always) const;

  const NodeLocator& locator_;
  const WriteSessionTable& sessions_;
  DirectoryNames& directory_names_;
  const Use use_;
};

}  // namespace framefs::fs
