#pragma once

#include <memory>
#include <utility>

#include "fs/core/guarded.h"
#include "fs/read/read_pattern.h"
#include "fs/source/backing_file.h"
#include "fs/source/folder.h"
#include "fs/tree/node.h"
#include "fs/write/frame_write_session.h"

namespace framefs::fs {

// The session by which an open file writes.  Another one takes its place where another writer has
// changed the frame while there was nothing to commit.
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

// A file that somebody has open.
struct OpenFile {
  OpenFile(std::shared_ptr<Node> file_node, BackingFile file, std::shared_ptr<ReadPattern> reads)
      : node(std::move(file_node)), source(std::move(file)), pattern(std::move(reads)) {}

  const std::shared_ptr<Node> node;
  const BackingFile source;
  CurrentSession session;                      // of a frame that is open for writing; else null
  const std::shared_ptr<ReadPattern> pattern;  // of the reads by this opening
};

// A directory that somebody has open.
struct OpenFolder {
  std::shared_ptr<Node> node;
  std::unique_ptr<Folder> folder;
};

}  // namespace framefs::fs
