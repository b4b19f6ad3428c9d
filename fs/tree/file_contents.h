#pragma once

#include <cstdint>
#include <memory>

#include "fs/core/mount_options.h"
#include "fs/read/read_habits.h"
#include "fs/tree/content/content_reads.h"
#include "fs/tree/content/frame_writers.h"
#include "fs/tree/content/open_file.h"
#include "fs/tree/content/page_pusher.h"
#include "fs/tree/file_changes.h"
#include "fs/tree/records/kernel_pages.h"
#include "fs/tree/source_tree.h"

namespace framefs::fs {

// The result of opening a file.
struct OpenedFile {
  std::unique_ptr<OpenFile> file;
  bool keep_pages = false;    // the kernel's cached pages of the file are still valid
  bool bypass_pages = false;  // every read must reach the daemon, which has an error to report
  ReadHabit habit = ReadHabit::unknown;  // that its reader probably has
};

// Opens and closes files, and reads them.
// Errors of all members: system, from the failed call on SOURCE.
// Threads: any number.
class FileContents {
 public:
  // Lifetime: all referenced objects outlive the `FileContents`.
  struct Parts {
    SourceTree& tree;
    const FrameWriters& writers;
    const ContentReads& reads;
    FileChanges& changes;
    PagePusher& pages;
  };
  FileContents(const MountOptions& options, const Parts& parts)
      : arrays_(options.arrays), has_writeback_(options.writeback), parts_(parts) {}

  // `flags` are those of open(2).
  // Errors: EROFS if a read-only file is opened for writing; with O_TRUNC, those of truncating it.
  Result<OpenedFile> open(NodeId id, int flags);
  // Opens a node whose backing file is already open.  `new_file` is set for a file that was just
  // created.
  Result<OpenedFile> open_as(std::shared_ptr<Node> node, BackingFile source, int flags,
                             const NewFile* new_file);
  void close(const OpenFile& file);
  // Opens a file for reads without a handle.  The file is closed with the last reference to it.
  // Lifetime: this object outlives the result.
  Result<std::shared_ptr<OpenFile>> open_reader(NodeId id);

  // See ContentReads.
  Result<ReadResult> read(OpenFile& file, std::uint64_t offset, std::uint64_t size) const {
    return parts_.reads.read(file, offset, size);
  }
  [[nodiscard]] Result<std::uint64_t> seek(const OpenFile& file, Seek what,
                                           std::uint64_t offset) const {
    return parts_.reads.seek(file, what, offset);
  }
  // To be called before a file without a view is read through OpenFile::source.
  // Errors: ESTALE if the mount is immutable and the file has changed.
  [[nodiscard]] Status check_plain(const OpenFile& file) const {
    return parts_.reads.check_unchanged(file);
  }

  // Whether a program may change the file through a shared mapping, of which only the kernel knows.
  [[nodiscard]] static bool may_be_mapped(const Node& node) {
    return node.state.with([](const Node::State& state) { return state.handles.are_mappable(); });
  }

 private:
  [[nodiscard]] Result<ContentState> content_now(const OpenFile& file) const;
  void leave(const OpenFile& file) const;
  [[nodiscard]] ReadHabit expected_habit(const Node& node) const;
  [[nodiscard]] Status check_kernel_size(const OpenFile& file) const;
  [[nodiscard]] Status count_handle(OpenFile& file) const;
  [[nodiscard]] Result<bool> bypasses_pages(const OpenFile& file, bool is_written) const;

  const ArrayViews arrays_;
  const bool has_writeback_;
  const Parts parts_;
  ReadHabits habits_;
};

}  // namespace framefs::fs
