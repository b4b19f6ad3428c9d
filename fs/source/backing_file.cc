#include "fs/source/backing_file.h"

#include <fcntl.h>

#include <utility>

#include "fs/core/shared_window.h"
#include "fs/source/sparse_frame.h"

namespace framefs::fs {

Result<BackingFile> BackingFile::adopt(UniqueFd fd) {
  FRAMEFS_TRY(const auto st, stat_of(fd.get()));
  if (!S_ISDIR(st.st_mode)) return adopt_file(std::move(fd));
  BackingFile opened;
  opened.folder_ = std::make_shared<const UniqueFd>(std::move(fd));
  return opened;
}

BackingFile BackingFile::adopt_file(UniqueFd fd) {
  BackingFile opened;
  opened.file_ = std::make_shared<const FileReader>(std::move(fd));
  return opened;
}

Result<struct stat> BackingFile::content_stat() const {
  return file_ ? stat_of(file_->fd()) : stat_sparse_index(folder_->get());
}

Result<std::shared_ptr<const FileReader>> BackingFile::open_content() const {
  if (file_) return file_;
  FRAMEFS_TRY(auto fd, open_sparse_index(folder_->get(), O_RDONLY | O_NONBLOCK));
  return std::make_shared<const FileReader>(std::move(fd));
}

Result<FrameOrigin> BackingFile::origin(std::uint64_t offset, std::string name) const {
  if (!file_) return sparse_origin(folder_->get(), std::move(name));
  if (offset == 0) return contiguous_origin(file_, std::move(name));
  FRAMEFS_TRY(const auto size, file_->available_from(offset));
  return contiguous_origin(
      std::make_shared<const SharedWindow>(file_, codec::ByteRange{offset, size}), std::move(name));
}

}  // namespace framefs::fs
