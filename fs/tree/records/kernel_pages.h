#pragma once

#include <cstdint>

#include "fs/core/files/file.h"

namespace framefs::fs {

// The content of a file at one moment: the state of its backing file, and the session that writes
// it (0: none).
struct ContentState {
  FileIdentity identity;
  std::uint64_t session_id = 0;
};

// The content that the kernel's pages of a file have.  The kernel keeps pages from one opening to
// the next, and drops them when it learns of another time of modification.  With --writeback, it
// also keeps the size.  Owner: FileContents, or RemoteTree.
// Threads: one at a time.
class KernelPages {
 public:
  // To be called for each new handle, with the content that it opens.  Returns whether the pages
  // have that content.
  bool open(const ContentState& now);
  // Whether the pages are of that state, as a handle opened it.
  [[nodiscard]] bool are_of(const FileIdentity& identity) const { return identity_ == identity; }
  // Another program has changed the file, perhaps within the granularity of its times.
  void forget() { identity_ = {}; }
  // The session that writes the file has left it in that state.  The pages hold the bytes that were
  // written last and stay valid.
  void end_session(const FileIdentity& identity);

  // With --writeback, the kernel keeps the size that it gets with the first lookup of a node: that
  // of the state `identity`, or of a session that writes the file.
  void note_size(const FileIdentity& identity, bool is_written);
  // Whether the kernel may have the size of that state.
  [[nodiscard]] bool may_have_size_of(const FileIdentity& identity) const;
  // The mount has changed attributes of an open file, which led to `now`.  The kernel has the size
  // that it had, or the one that it has just set.  The next opening drops the pages.
  void note_attributes(const ContentState& now);

 private:
  FileIdentity identity_;
  std::uint64_t session_id_ = 0;  // the session whose bytes the pages may have
};

}  // namespace framefs::fs
