#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "fs/core/mount_options.h"
#include "fs/read/read_habits.h"
#include "fs/tree/array_candidates.h"
#include "fs/tree/frame_writers.h"
#include "fs/tree/kernel_pages.h"
#include "fs/tree/node_views.h"
#include "fs/tree/open_file.h"
#include "fs/tree/page_pusher.h"
#include "fs/tree/source_tree.h"
#include "fs/view/decode_ahead.h"

namespace framefs::fs {

// The result of opening a file.
struct OpenedFile {
  std::unique_ptr<OpenFile> file;
  bool keep_pages = false;    // the kernel's cached pages of the file are still valid
  bool bypass_pages = false;  // every read must reach the daemon, which has an error to report
  ReadHabit habit = ReadHabit::unknown;  // that its reader probably has
};

// The bytes of files.
// Errors of all members: system, from the failed call on SOURCE.
// Threads: any number.
class FileContents {
 public:
  // Lifetime: all referenced objects outlive the `FileContents`.
  struct Parts {
    SourceTree& tree;
    NodeLocator& locator;
    const LockFiles& lock_files;
    const NodeViews& views;
    const FrameWriters& writers;
    DecodeAhead& ahead;
    PagePusher& pages;
    ArrayCandidates& arrays;
  };
  FileContents(const MountOptions& options, const Parts& parts)
      : arrays_(options.arrays),
        immutable_(options.immutable),
        has_writeback_(options.writeback),
        parts_(parts) {}

  // `flags` are those of open(2).  Errors: EROFS if a read-only file is opened for writing.
  Result<OpenedFile> open(NodeId id, int flags);
  // Opens a node whose backing file is already open.  `new_file` is set for a file that was just
  // created.
  Result<OpenedFile> open_as(std::shared_ptr<Node> node, BackingFile source, int flags,
                             const NewFile* new_file);
  void close(const OpenFile& file);
  // Opens a file for reads without a handle.  The file is closed with the last reference to it.
  // Lifetime: this object outlives the result.
  Result<std::shared_ptr<OpenFile>> open_reader(NodeId id);

  // For nodes with NodeKey::has_view(); other files are read through OpenFile::source.
  // Errors: those of View::read().
  Result<ReadResult> read(OpenFile& file, std::uint64_t offset, std::uint64_t size);
  // Errors: those of View::seek(); for files without a view, those of lseek().
  Result<std::uint64_t> seek(const OpenFile& file, Seek what, std::uint64_t offset);

  // To be called before a file without a view is read through OpenFile::source.
  // Errors: ESTALE if the mount is immutable and the file has changed.
  [[nodiscard]] Status check_plain(const OpenFile& file) const;

  // Whether a program may change the file through a shared mapping, of which only the kernel knows.
  [[nodiscard]] static bool may_be_mapped(const Node& node) {
    return node.state.with([](const Node::State& state) { return state.handles.are_mappable(); });
  }

  // The members below require a file that was opened for writing.
  // Errors: no_space and other errors of storing this write or an earlier one; EPERM for a write to
  //   an array's header or beyond its end; over_limit.
  Status write(OpenFile& file, std::uint64_t offset, std::span<const std::byte> bytes);
  // Appends bytes at the current end of the file.  Returns false if the end is not at `offset`,
  // where the caller expected it; the caller's pages from `offset` on are then wrong.
  // Errors: those of write().
  Result<bool> append(OpenFile& file, std::uint64_t offset, std::span<const std::byte> bytes);
  // `mode` is that of fallocate(2).
  Status allocate(OpenFile& file, int mode, std::uint64_t offset, std::uint64_t size);
  // Stores the written bytes, so that a failure is known when the file is closed.
  Status flush(OpenFile& file);
  // Returns when all writes to the file, by any process, would survive a power failure.
  Status sync(OpenFile& file, bool only_data);

  // `file` is an open file of the node, or null.
  Status truncate(Node& node, OpenFile* file, std::uint64_t size);

 private:
  [[nodiscard]] Result<ContentState> content_now(const OpenFile& file) const;
  void leave(const OpenFile& file) const;
  [[nodiscard]] ReadHabit expected_habit(const Node& node) const;
  [[nodiscard]] Status check_kernel_size(const OpenFile& file) const;
  [[nodiscard]] Status count_handle(OpenFile& file) const;
  // Runs body(view, session) for the current content of an open file; `session` is the session that
  // writes it, or null.  Errors: those of LockFiles::share(), NodeViews::current() and the body.
  template <class Body>
  [[nodiscard]] auto reading(const OpenFile& file, const Body& body) const
      -> decltype(body(std::shared_ptr<const View>(), nullptr));
  template <class Body>
  [[nodiscard]] auto reading_immutable(const OpenFile& file, const Body& body) const
      -> decltype(body(std::shared_ptr<const View>(), nullptr));
  [[nodiscard]] Result<bool> bypasses_pages(const OpenFile& file, bool is_written) const;
  [[nodiscard]] Status write_pieces(const WriteSessionTable::Session& session,
                                    std::span<const FrameWriteSession::Piece> pieces) const;
  Status write_array(Node& node, const WriteSessionTable::Session& session, std::uint64_t offset,
                     std::span<const std::byte> bytes);
  Status allocate_array(OpenFile& file, bool makes_zeros, bool may_grow, std::uint64_t offset,
                        std::uint64_t size);

  const ArrayViews arrays_;
  const bool immutable_;
  const bool has_writeback_;
  const Parts parts_;
  ReadHabits habits_;
};

}  // namespace framefs::fs
