#include "fs/source/backing_file.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "fs/core/files/shared_window.h"
#include "fs/source/shown_access.h"
#include "fs/source/sparse_frame.h"

namespace framefs::fs {
namespace {

// The attributes of no file: only a file that all users may read grants as much.
struct stat no_file() {
  struct stat st{};
  st.st_uid = ~uid_t{0};
  return st;
}

// Whether only the owner and root can have put the file into the directory.
bool is_owners_choice(const struct stat& file, const struct stat& directory) {
  return file.st_uid == directory.st_uid && (directory.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

Result<BackingFile> BackingFile::adopt(UniqueFd fd) {
  FRAMEFS_TRY(const auto st, stat_of(fd.get()));
  if (!S_ISDIR(st.st_mode)) return adopt_file(std::move(fd));
  BackingFile opened;
  opened.folder_ = std::make_shared<const UniqueFd>(std::move(fd));
  // Without an index file, content_stat() fails.
  opened.index_ = stat_sparse_index(opened.folder_->get()).value_or(no_file());
  return opened;
}

BackingFile BackingFile::adopt_file(UniqueFd fd) {
  BackingFile opened;
  opened.file_ = std::make_shared<const FileReader>(std::move(fd));
  return opened;
}

Result<struct stat> BackingFile::content_stat() const {
  if (file_) return stat_of(file_->fd());
  FRAMEFS_TRY(const auto st, stat_sparse_index(folder_->get()));
  FRAMEFS_CHECK(check_rights(st));
  return st;
}

// A commit replaces the index file by one with the same rights.  Any user who can write to the
// directory of the frame may replace it by a file of another user.
Status BackingFile::check_rights(const struct stat& index) const {
  if (grants_reading(index, index_)) return {};
  // An open file stays readable if its owner takes rights away, before or after a commit.
  if (file_key(index) == file_key(index_)) return {};
  FRAMEFS_TRY(const auto directory, stat_of(folder_->get()));
  if (is_owners_choice(index, directory)) return {};
  return system_error_of(EACCES, "index file");
}

Result<std::shared_ptr<const FileReader>> BackingFile::open_content() const {
  if (file_) return file_;
  FRAMEFS_TRY(auto fd, open_sparse_index(folder_->get(), O_RDONLY | O_NONBLOCK));
  FRAMEFS_TRY(const auto st, stat_of(fd.get()));
  FRAMEFS_CHECK(check_rights(st));
  return std::make_shared<const FileReader>(std::move(fd));
}

Result<FrameOrigin> BackingFile::origin(std::uint64_t offset, std::string name) const {
  if (!file_) {
    FRAMEFS_TRY(auto index, open_content());
    return sparse_origin(folder_->get(), std::move(index), std::move(name));
  }
  if (offset == 0) return contiguous_origin(file_, std::move(name));
  FRAMEFS_TRY(const auto size, file_->available_from(offset));
  return contiguous_origin(
      std::make_shared<const SharedWindow>(file_, codec::ByteRange{offset, size}), std::move(name));
}

}  // namespace framefs::fs
