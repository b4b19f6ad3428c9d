#include "fs/tree/open_file.h"

#include <fcntl.h>

#include <utility>

#include "fs/core/shared_window.h"
#include "fs/source/chunk_files.h"
#include "fs/source/name_policy.h"

namespace framefs::fs {

Result<BackingFile> BackingFile::adopt(UniqueFd fd) {
  FRAMEFS_TRY(const auto st, stat_of(fd.get()));
  BackingFile source;
  if (S_ISDIR(st.st_mode)) {
    source.folder_ = std::make_shared<const UniqueFd>(std::move(fd));
  } else {
    source.file_ = std::make_shared<const FileReader>(std::move(fd));
  }
  return source;
}

Result<struct stat> BackingFile::content_stat() const {
  if (file_) return stat_of(file_->fd());
  struct stat st{};
  if (::fstatat(folder_->get(), std::string(kSparseIndexName).c_str(), &st, AT_SYMLINK_NOFOLLOW) !=
      0) {
    return system_error("stat");
  }
  return st;
}

Result<std::shared_ptr<const FileReader>> BackingFile::open_content() const {
  if (file_) return file_;
  auto fd =
      open_quietly(folder_->get(), kSparseIndexName.data(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd) return system_error("open");
  return std::make_shared<const FileReader>(std::move(fd));
}

Result<FrameOrigin> BackingFile::origin(std::uint64_t offset, std::string name) const {
  if (file_) {
    if (offset == 0) return contiguous_origin(file_, std::move(name));
    FRAMEFS_TRY(const auto size, file_->available_from(offset));
    return contiguous_origin(
        std::make_shared<const SharedWindow>(file_, codec::ByteRange{offset, size}),
        std::move(name));
  }
  FRAMEFS_TRY(auto index, open_content());
  UniqueFd folder(::fcntl(folder_->get(), F_DUPFD_CLOEXEC, 0));
  if (!folder) return system_error("dup");
  return FrameOrigin{.type = codec::FrameType::sparse,
                     .source = std::move(index),
                     .chunks = std::make_shared<const ChunkFiles>(std::move(folder)),
                     .name = std::move(name)};
}

}  // namespace framefs::fs
