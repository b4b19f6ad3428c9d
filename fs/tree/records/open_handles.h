#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "fs/core/files/file.h"

namespace framefs::fs {

// The open handles of a node.  Owner: the object that opens and closes them, FileContents or
// RemoteTree.
// Threads: one at a time.
class OpenHandles {
 public:
  // Counts a handle; `is_mappable`: see OpenFile.  Returns false after retire().
  [[nodiscard]] bool add(bool is_mappable) {
    if (is_retired_) return false;
    ++count_;
    if (is_mappable) ++mappable_;
    return true;
  }
  // Ends a handle, through which the file `was_written`.  Returns whether it was the last one.
  bool remove(bool is_mappable, bool was_written) {
    was_written_ = was_written_ || was_written;
    --count_;
    if (is_mappable) --mappable_;
    return count_ == 0;
  }
  // Whether the file was written through a handle since this was asked last.
  [[nodiscard]] bool take_written() { return std::exchange(was_written_, false); }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] bool are_mappable() const noexcept { return mappable_ > 0; }

  // The open file that all handles share: see OpenFile::keeper.  Null if no handle has one.
  [[nodiscard]] std::shared_ptr<const FileReader> file() const { return file_.lock(); }
  // The same for a handle that opened `own`, which becomes that file if there is none.
  [[nodiscard]] std::shared_ptr<const FileReader> share(
      const std::shared_ptr<const FileReader>& own) {
    auto known = file_.lock();
    if (!known) file_ = known = own;
    return known;
  }

  // For a caller that wants the file without handles: returns whether there are none.  If there
  // are some, the last one counts as one that wrote, and the caller tries again when it ends.
  [[nodiscard]] bool want_none() {
    if (count_ > 0) was_written_ = true;
    return count_ == 0;
  }
  // A file with the same bytes takes the place of the file: until restore(), no handle is opened.
  void retire() noexcept { is_retired_ = true; }
  void restore() noexcept { is_retired_ = false; }

 private:
  std::uint64_t count_ = 0;
  std::uint64_t mappable_ = 0;  // of those
  std::weak_ptr<const FileReader> file_;
  bool was_written_ = false;
  bool is_retired_ = false;
};

}  // namespace framefs::fs
