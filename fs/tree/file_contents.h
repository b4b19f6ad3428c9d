#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "fs/core/mount_options.h"
#include "fs/tree/frame_writers.h"
#include "fs/tree/node_views.h"
#include "fs/tree/open_file.h"
#include "fs/tree/source_tree.h"
#include "fs/view/decode_ahead.h"

namespace framefs::fs {

// An open file, as the answer to an opening.
struct OpenedFile {
  std::unique_ptr<OpenFile> file;
  bool keep_pages = false;    // what the kernel holds of the file is still right
  bool bypass_pages = false;  // every read must come here, for it has an error to report
};

// The bytes of files.
// Errors of all members: system, as the call on SOURCE failed.
// Threads: any number.
class FileContents {
 public:
  // Lifetime: all that is referred to outlives it.
  struct Parts {
    SourceTree& tree;
    const NodeLocator& locator;
    const NodeViews& views;
    const FrameWriters& writers;
    DecodeAhead& ahead;
  };
  FileContents(const MountOptions& options, const Parts& parts)
      : arrays_(options.arrays), parts_(parts) {}

  // `flags` are those of open(2).  Errors: EROFS for writing to what cannot be written to.
  Result<OpenedFile> open(NodeId id, int flags);
  // Opens what is open in SOURCE already; `new_file` where it was just made to become a frame.
  Result<OpenedFile> open_as(std::shared_ptr<Node> node, BackingFile source, int flags,
                             const NewFile* new_file);
  void close(const OpenFile& file);

  // Where NodeKey::has_view(); other files are read through OpenFile::source.
  // Errors: those of View::read().
  Result<ReadResult> read(OpenFile& file, std::uint64_t offset, std::uint64_t size);
  // Errors: those of View::seek(); of other files, as lseek() has them.
  Result<std::uint64_t> seek(const OpenFile& file, Seek what, std::uint64_t offset);

  // The members below want a file that was opened for writing.
  // Errors: no_space and others of storing what was written, now or before; EPERM for an array's
  //   header and beyond its end; over_limit.
  Status write(OpenFile& file, std::uint64_t offset, std::span<const std::byte> bytes);
  // Writes bytes where the file ends now.  False where that is not at `offset`, where the caller took
  // the end to be: its pages from there on are wrong.  Errors: likewise.
  Result<bool> append(OpenFile& file, std::uint64_t offset, std::span<const std::byte> bytes);
  // `mode` is that of fallocate(2).
  Status allocate(OpenFile& file, int mode, std::uint64_t offset, std::uint64_t size);
  // Stores what was written, so that failures to do so are known when the file is closed.
  Status flush(OpenFile& file);
  // Returns when what anybody wrote to the file would outlast a loss of power.
  Status sync(OpenFile& file, bool only_data);

  // `file` is the node's where it is open, or null.
  Status truncate(Node& node, OpenFile* file, std::uint64_t size);

 private:
  // The state of an open file's content, and the session that writes it (0: none), of one moment.
  struct ContentNow {
    FileIdentity identity;
    std::uint64_t session_id = 0;
  };
  [[nodiscard]] Result<ContentNow> content_now(const OpenFile& file) const;
  void leave(const OpenFile& file) const;
  static bool keeps_pages(Node& node, const ContentNow& now);
  [[nodiscard]] Result<bool> bypasses_pages(const OpenFile& file, bool is_written) const;
  Status write_array(Node& node, FrameWriteSession& session, std::uint64_t offset,
                     std::span<const std::byte> bytes);
  Status allocate_array(OpenFile& file, bool makes_zeros, bool may_grow, std::uint64_t offset,
                        std::uint64_t size);

  const ArrayViews arrays_;
  const Parts parts_;
};

}  // namespace framefs::fs
