#pragma once

#include <cstdint>
#include <memory>

#include "fs/core/mount_options.h"
#include "fs/tree/content/frame_writers.h"
#include "fs/tree/content/lock_files.h"
#include "fs/tree/content/node_views.h"
#include "fs/tree/content/open_file.h"
#include "fs/view/decode_ahead.h"

namespace framefs::fs {

// Reads the content of open files.
//
// Invariant: no answer mixes two states of a file.  Each answer comes from the view of one state,
// which is compared with the file after the read; if the state has changed meanwhile, the read
// starts again.
//
// Errors of all members: system, from the failed call on SOURCE; ESTALE if other programs change
//   the file all the time, or if the mount is immutable and the file has changed.
// Threads: any number.
class ContentReads {
 public:
  // Lifetime: all referenced objects outlive the `ContentReads`.
  ContentReads(const MountOptions& options, const LockFiles& lock_files, const NodeViews& views,
               const FrameWriters& writers, DecodeAhead& ahead)
      : immutable_(options.immutable),
        lock_files_(lock_files),
        views_(views),
        writers_(writers),
        ahead_(ahead) {}

  // How a handle is read that is about to be opened.
  [[nodiscard]] std::shared_ptr<ReadPattern> new_pattern() const { return ahead_.new_pattern(); }
  // For nodes with NodeKey::has_view(); other files are read through OpenFile::source.
  // Errors: those of View::read().
  Result<ReadResult> read(OpenFile& file, std::uint64_t offset, std::uint64_t size) const;
  // Errors: those of View::seek(); for files without a view, those of lseek().
  [[nodiscard]] Result<std::uint64_t> seek(const OpenFile& file, Seek what,
                                           std::uint64_t offset) const;
  // Whether the file's view can be read.  If so, and nobody writes it, the node remembers that.
  [[nodiscard]] Result<bool> is_readable(const OpenFile& file) const;

  // To be called with the state of a file that is about to be used without a view.
  [[nodiscard]] Status check_unchanged(Node& node, const FileIdentity& identity) const;
  // The same for an open file, in its current state.
  [[nodiscard]] Status check_unchanged(const OpenFile& file) const;

 private:
  // Runs body(view, session) for the current content of an open file; `session` is the session that
  // writes it, or null.  Errors: those of LockFiles::share(), NodeViews::current() and the body.
  template <class Body>
  [[nodiscard]] auto reading(const OpenFile& file, const Body& body) const
      -> decltype(body(std::shared_ptr<const View>(), nullptr));
  template <class Body>
  [[nodiscard]] auto reading_immutable(const OpenFile& file, const Body& body) const
      -> decltype(body(std::shared_ptr<const View>(), nullptr));

  const bool immutable_;
  const LockFiles& lock_files_;
  const NodeViews& views_;
  const FrameWriters& writers_;
  DecodeAhead& ahead_;
};

}  // namespace framefs::fs
