#pragma once

#include <fcntl.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fs/tree/node_locator.h"
#include "fs/tree/open_containers.h"
#include "fs/tree/open_file.h"
#include "fs/write/new_frame_policy.h"
#include "fs/write/write_session_table.h"

namespace framefs::fs {

// What a new file is made as.
struct NewFile {
  std::string source_name;
  std::optional<NewFrame> frame;   // nothing: a plain file
  std::vector<std::byte> bytes{};  // what is in it at first
};

// The write sessions of nodes.
// Threads: any number.
class FrameWriters {
 public:
  // Lifetime: all that is referred to outlives it.
  struct Parts {
    const NodeLocator& locator;
    const OpenContainers& containers;
    const NewFramePolicy& new_frames;
    WriteSessionTable& sessions;
    WriteServices services;
  };
  explicit FrameWriters(const Parts& parts) : parts_(parts) {}

  // Null where nobody writes the node's frame, and where another writer has changed it since.
  [[nodiscard]] WriteSessionTable::Session session_of(const Node& node) const;
  // The same of a file of SOURCE.
  [[nodiscard]] WriteSessionTable::Session session_of(const FileKey& file) const;

  // What is to be opened of a node for writing; of a frame, for reading too, whatever was asked for.
  // `flags` are those of open(2).  Errors: system.
  [[nodiscard]] Result<BackingFile> open(const Node& node, int flags) const;
  // Joins the session of the node's frame as one more writer; leave() ends that.  `new_file` where the
  // file was just made to become a frame.  Errors: those of open_for_writing_frame().
  Result<std::shared_ptr<FrameWriteSession>> join(Node& node, const BackingFile& source,
                                                  const NewFile* new_file) const;
  void leave(const Node& node, const WriteSessionTable::Session& session) const {
    parts_.sessions.close(file_key(node), session);
  }

  // A session whose frame is this process's to change.
  struct Changing {
    WriteSessionTable::Session session;
    FrameWriteSession::Change change;
    FrameWriteSession* operator->() const noexcept { return session.get(); }
  };
  // Of the session by which the file is open for writing; another one takes its place where another
  // writer has changed the frame while this mount had nothing to commit.
  // Errors: EBADF where it is not open for writing; EIO, EAGAIN, EBUSY as FrameWriteSession has them.
  Result<Changing> begin_change(OpenFile& file) const;

  // Runs body(session), () -> Status, as a writer of the node's frame.
  template <class Body>
  Status with_session(Node& node, const Body& body) const {
    FRAMEFS_TRY(const auto source, open(node, O_RDWR));
    FRAMEFS_TRY(const auto joined, join(node, source, nullptr));
    const auto changing = begin_change(node, joined, source.fd());
    const auto done = changing ? body(*changing->session) : std::unexpected(changing.error());
    leave(node, changing ? changing->session : joined);
    return done;
  }

  [[nodiscard]] WriteSessionTable& sessions() const noexcept { return parts_.sessions; }

 private:
  // `fd` is open in SOURCE.
  Result<Changing> begin_change(Node& node, WriteSessionTable::Session session, int fd) const;
  Result<std::shared_ptr<FrameWriteSession>> make(Node& node, const BackingFile& source,
                                                  const NewFile* new_file) const;

  const Parts parts_;
};

}  // namespace framefs::fs
