#pragma once

#include <memory>
#include <utility>

#include "fs/core/resources/descriptor_shares.h"
#include "fs/core/threads/guarded.h"
#include "fs/read/read_pattern.h"
#include "fs/source/backing_file.h"
#include "fs/source/folder.h"
#include "fs/tree/nodes/node.h"
#include "fs/write/frame_write_session.h"

namespace framefs::fs {

// The session through which an open file writes.  If another writer changes the frame while there
// is nothing to commit, a new session replaces it.
// Threads: any number.
class CurrentSession {
 public:
  using Session = std::shared_ptr<FrameWriteSession>;
  [[nodiscard]] Session get() const {
    return session_.with([](const Session& session) { return session; });
  }
  void set(Session session) {
    session_.with([&](Session& known) { known.swap(session); });
  }

 private:
  Guarded<Session> session_;
};

// An open file.
struct OpenFile {
  OpenFile(std::shared_ptr<Node> file_node, BackingFile file, std::shared_ptr<ReadPattern> reads)
      : node(std::move(file_node)), source(std::move(file)), pattern(std::move(reads)) {}

  const std::shared_ptr<Node> node;
  const BackingFile source;
  // The open file of one of the node's handles, which all of them keep open: by it the node is
  // found when another program has removed its last name.  Null for a sparse frame.
  std::shared_ptr<const FileReader> keeper;
  CurrentSession session;                      // for a frame open for writing; else null
  const std::shared_ptr<ReadPattern> pattern;  // of the reads through this handle
  // The backing file had bytes when it was opened.  Set before the first request.
  bool had_bytes = false;
  // Opened with O_RDWR: programs may change the file through a shared mapping.  Set before the
  // first request.
  bool is_mappable = false;
  DescriptorShares::Share descriptors;  // set before the first request
};

// An open directory.
struct OpenFolder {
  std::shared_ptr<Node> node;
  std::unique_ptr<Folder> folder;
};

}  // namespace framefs::fs
