#include "src/compact/frame_target.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "fs/core/files/file.h"
#include "fs/source/sparse_frame.h"
#include "fs/write/frame_write_session.h"

namespace framefs {
namespace {

fs::Result<fs::WriteTarget> open_frame(const fs::Place& place) {
  auto fd = place.open(O_RDWR | O_NONBLOCK);
  if (!fd && fd.error().sys == EISDIR) {
    FRAMEFS_TRY(auto directory, place.open(O_RDONLY | O_DIRECTORY));
    struct stat st{};
    if (::fstatat(directory.get(), fs::kSparseIndexName, &st, AT_SYMLINK_NOFOLLOW) != 0) {
      return fs::refusal(EISDIR, "this directory is not a frame");
    }
    return fs::WriteTarget{
        .file = nullptr, .directory = std::move(directory), .name = place.path()};
  }
  if (!fd) return std::unexpected(fd.error());
  FRAMEFS_TRY(const auto st, fs::stat_of(fd->get()));
  if (!S_ISREG(st.st_mode)) return fs::refusal(EINVAL, "this is neither a file nor a directory");
  return fs::WriteTarget{.file = std::make_shared<const fs::FileReader>(std::move(*fd)),
                         .directory = {},
                         .name = place.path()};
}

}  // namespace

fs::Result<fs::WriteTarget> take_frame(const fs::Place& place, bool creates_lock_file) {
  FRAMEFS_TRY(auto target, open_frame(place));
  target.lock_file = fs::Blosc2Lock(fs::lock_file_opener(place, !target.file), creates_lock_file);
  FRAMEFS_TRY(target.ownership, fs::ownership_of(target));
  FRAMEFS_CHECK(target.ownership->take(fs::FrameWriteSession::kPatience));
  target.ownership->forget_change();
  return target;
}

fs::Status set_times(int fd, const struct stat& st) {
  const std::array<timespec, 2> times{st.st_atim, st.st_mtim};
  if (::futimens(fd, times.data()) != 0) return fs::system_error("utimens");
  return {};
}

}  // namespace framefs
