#pragma once

#include <cstdint>
#include <span>

#include "fs/tree/changes/array_candidates.h"
#include "fs/tree/changes/array_places.h"
#include "fs/tree/content/frame_writers.h"
#include "fs/tree/content/node_views.h"
#include "fs/tree/content/open_file.h"
#include "fs/tree/source_tree.h"

namespace framefs::fs {

// Changes of the bytes of files.
// Errors of all members: system, from the failed call on SOURCE; no_space and other errors of
//   storing this change or an earlier one; EPERM for a change of an array's header or size;
//   over_limit.
// Threads: any number.
class FileChanges {
 public:
  // Lifetime: all referenced objects outlive the `FileChanges`.
  struct Parts {
    SourceTree& tree;
    const NodeViews& views;
    const FrameWriters& writers;
    ArrayPlaces& arrays;
    ArrayCandidates& candidates;
  };
  explicit FileChanges(const Parts& parts) : parts_(parts) {}

  // The members with an OpenFile& require a file that was opened for writing.
  Status write(OpenFile& file, std::uint64_t offset, std::span<const std::byte> bytes);
  // Appends bytes at the current end of the file.  Returns false if the end is not at `offset`,
  // where the caller expected it; the caller's pages from `offset` on are then wrong.
  Result<bool> append(OpenFile& file, std::uint64_t offset, std::span<const std::byte> bytes);
  // `mode` is that of fallocate(2).
  Status allocate(OpenFile& file, int mode, std::uint64_t offset, std::uint64_t size);
  // Stores the written bytes, so that a failure is known when the file is closed.
  Status flush(OpenFile& file);
  // Returns when all writes to the file, by any process, would survive a power failure.
  Status sync(OpenFile& file, bool only_data);

  // `file` is an open file of the node, or null.
  Status truncate(Node& node, OpenFile* file, std::uint64_t size);
  // See ArrayPlaces::replace_truncated().
  Status replace_truncated(const Node& node) { return parts_.arrays.replace_truncated(node); }
  // To be called when the last handle that could write the file was closed.
  void note_end_of_writing(const FileKey& file) { parts_.candidates.note(file); }

 private:
  [[nodiscard]] Status write_pieces(const WriteSessionTable::Session& session,
                                    std::span<const FrameWriteSession::Piece> pieces) const;
  Status write_array(Node& node, const WriteSessionTable::Session& session, std::uint64_t offset,
                     std::span<const std::byte> bytes);
  Status allocate_array(OpenFile& file, bool makes_zeros, bool may_grow, std::uint64_t offset,
                        std::uint64_t size);

  const Parts parts_;
};

}  // namespace framefs::fs
