#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>

#include "fs/core/files/file.h"
#include "fs/source/frame_origin.h"

namespace framefs::fs {

// The open object in SOURCE behind a shown file: a file, or the directory of a sparse frame.
// Threads: any number.
class BackingFile {
 public:
  // `fd` is open for reading.  Errors: system.
  static Result<BackingFile> adopt(UniqueFd fd);
  // The same for a descriptor that is known to be a regular file.
  static BackingFile adopt_file(UniqueFd fd);

  [[nodiscard]] bool is_sparse() const noexcept { return folder_ != nullptr; }
  // The file; null for a sparse frame.
  [[nodiscard]] const std::shared_ptr<const FileReader>& file() const noexcept { return file_; }
  [[nodiscard]] int fd() const noexcept { return file_ ? file_->fd() : folder_->get(); }

  // The attributes of the file, or of the current index file of a sparse frame.  They differ
  // between any two states.
  // Errors: EACCES if the index file has been replaced by one that grants fewer rights to read than
  // the one at the opening, to which the kernel has compared the rights of the caller; system.
  [[nodiscard]] Result<struct stat> content_stat() const;
  // The file, or the current index file of a sparse frame.  Errors: those of content_stat().
  [[nodiscard]] Result<std::shared_ptr<const FileReader>> open_content() const;
  // The current frame in the file, from byte `offset` of the file on.  `name` is for the log.
  // Errors: those of content_stat().
  [[nodiscard]] Result<FrameOrigin> origin(std::uint64_t offset, std::string name) const;

 private:
  BackingFile() = default;
  [[nodiscard]] Status check_rights(const struct stat& index) const;

  std::shared_ptr<const FileReader> file_;
  std::shared_ptr<const UniqueFd> folder_;  // the directory of a sparse frame
  struct stat index_{};                     // of its index file at the opening
};

}  // namespace framefs::fs
