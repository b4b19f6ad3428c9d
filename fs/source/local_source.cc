#include "fs/source/local_source.h"

#include <fcntl.h>

#include <cerrno>
#include <memory>

#include "fs/source/directory_items.h"

namespace framefs::fs {

Result<UniqueFd> LocalSource::open_fd(const std::string& path, int flags) const {
  return root_.open(path.empty() ? "." : path, flags);
}

Result<std::vector<SourceItem>> LocalSource::list(const std::string& path) const {
  FRAMEFS_TRY(const auto fd, open_fd(path, O_RDONLY | O_DIRECTORY));
  return directory_items(fd.get());
}

Result<SourceStat> LocalSource::stat(const std::string& path) const {
  FRAMEFS_TRY(const auto fd, open_fd(path, O_PATH | O_NOFOLLOW));
  FRAMEFS_TRY(const auto st, stat_of(fd.get()));
  return SourceStat{st, identity_of(st)};
}

Result<SourceObject> LocalSource::open(const std::string& path) const {
  // O_NONBLOCK: a fifo must not block the caller.
  FRAMEFS_TRY(auto fd, open_fd(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  FRAMEFS_TRY(const auto st, stat_of(fd.get()));
  if (S_ISDIR(st.st_mode)) return system_error_of(EISDIR, "open");
  return SourceObject{{st, identity_of(st)}, std::make_shared<const FileReader>(std::move(fd))};
}

}  // namespace framefs::fs
