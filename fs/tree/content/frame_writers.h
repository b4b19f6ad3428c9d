#pragma once

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fs/tree/content/lock_files.h"
#include "fs/tree/content/open_file.h"
#include "fs/tree/content/page_pusher.h"
#include "fs/tree/nodes/node_locator.h"
#include "fs/tree/records/kernel_pages.h"
#include "fs/write/new_frame_policy.h"
#include "fs/write/write_core.h"

namespace framefs::fs {

// How a new file is created.
struct NewFile {
  std::string source_name;
  std::optional<NewFrame> frame;   // unset: a plain file
  std::vector<std::byte> bytes{};  // its initial content
  UniqueFd original{};             // set if it gets the attributes of this file
  // Its attributes when it got its name.  Unset if it had the name before it had its content.
  std::optional<struct stat> stat_at_link{};
  struct stat stat{};                         // its attributes since
  std::optional<std::uint32_t> generation{};  // as SourceProbe::generation_of() gives it
};

// The write sessions of nodes.
// Threads: any number.
class FrameWriters {
 public:
  // Lifetime: all referenced objects outlive the `FrameWriters`.
  struct Parts {
    const NodeLocator& locator;
    const LockFiles& lock_files;
    const NewFramePolicy& new_frames;
    WriteCore& core;
    PagePusher& pages;
  };
  explicit FrameWriters(const Parts& parts) : parts_(parts) {}

  // Where the bytes are that were written to the node's frame.
  [[nodiscard]] WrittenBytes written_bytes(const Node& node) const;
  // The session that has the bytes that readers of the node see.  Null if SOURCE has them: after a
  // loss, readers see the last commit.
  [[nodiscard]] WriteSessionTable::Session shown_session(const Node& node) const;

  // The state of a node's content: `stat`, () -> Result<struct stat>, returns the attributes of its
  // backing file.
  template <class Stat>
  [[nodiscard]] Result<ContentState> content_state(const Node& node, const Stat& stat) const {
    const bool may_be_written = node.key.shows_frame() && !node.key.is_member();
    const auto state_with = [&](const WriteSessionTable::Session& session) -> Result<ContentState> {
      const bool is_removed = session && session->is_removed();
      FRAMEFS_TRY(const auto st, is_removed ? session->content_stat() : stat());
      const bool is_written = session && may_be_written && session->check();
      return ContentState{identity_of(st), is_written ? session->id() : 0};
    };
    return table().snapshot(file_key(node), state_with);
  }

  // To be called after the attributes of a file of SOURCE, or its names, were changed.
  void note_attributes(const FileKey& file) const {
    if (const auto session = table().find(file)) session->note_attributes();
  }

  // Opens the backing file of a node for writing.  A frame is opened for reading
  // too, whatever `flags` say.  `flags` are those of open(2).  Errors: system.
  [[nodiscard]] Result<BackingFile> open(const Node& node, int flags) const;
  // Joins the session of the node's frame as one more writer; leave() ends that.  `new_file` is set
  // for a file that was just created.  On return, no block of the frame is being stored in the
  // kernel's page cache.  Errors: those of open_for_writing_frame().
  Result<std::shared_ptr<FrameWriteSession>> join(Node& node, const BackingFile& source,
                                                  const NewFile* new_file) const;
  void leave(const Node& node, const WriteSessionTable::Session& session) const;

  // A session whose frame this process may change.
  struct Changing {
    WriteSessionTable::Session session;
    FrameWriteSession::Change change;
    FrameWriteSession* operator->() const noexcept { return session.get(); }
  };
  // Begins a change through the session by which the file is open for writing.  If another writer
  // changed the frame while this mount had nothing to commit, a new session replaces that one.
  // Errors: EBADF if the file is not open for writing; EIO, EAGAIN, EBUSY as for FrameWriteSession.
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

  [[nodiscard]] WriteSessions& sessions() const noexcept { return parts_.core.sessions; }
  [[nodiscard]] WriteSessionTable& table() const noexcept { return parts_.core.table; }

 private:
  // `fd` is open in SOURCE.
  Result<Changing> begin_change(Node& node, WriteSessionTable::Session session, int fd) const;
  Result<std::shared_ptr<FrameWriteSession>> make(
      Node& node, const BackingFile& source, const NewFile* new_file,
      std::unique_ptr<FrameOwnership> ownership = nullptr) const;
  Result<std::shared_ptr<FrameWriteSession>> make_successor(
      Node& node, int fd, std::unique_ptr<FrameOwnership> ownership) const;

  const Parts parts_;
};

}  // namespace framefs::fs
