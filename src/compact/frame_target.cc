#include "src/compact/frame_target.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "fs/core/file.h"
#include "fs/source/sparse_frame.h"
#include "fs/write/frame_write_session.h"

namespace framefs {
namespace {

namespace stdfs = std::filesystem;

fs::Result<fs::WriteTarget> open_frame(const stdfs::path& path) {
  fs::UniqueFd fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == EISDIR) {
    fd = fs::UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return fs::system_error("open");
    struct stat st{};
    if (::fstatat(fd.get(), "chunks.b2frame", &st, AT_SYMLINK_NOFOLLOW) != 0) {
      return fs::refusal(EISDIR, "this directory is not a frame");
    }
    return fs::WriteTarget{.file = nullptr, .directory = std::move(fd), .name = path.string()};
  }
  if (!fd) return fs::system_error("open");
  FRAMEFS_TRY(const auto st, fs::stat_of(fd.get()));
  if (!S_ISREG(st.st_mode)) return fs::refusal(EINVAL, "this is neither a file nor a directory");
  return fs::WriteTarget{.file = std::make_shared<const fs::FileReader>(std::move(fd)),
                         .directory = {},
                         .name = path.string()};
}

}  // namespace

fs::Result<fs::WriteTarget> take_frame(const stdfs::path& path, bool creates_lock_file) {
  FRAMEFS_TRY(auto target, open_frame(path));
  target.lock_file =
      fs::Blosc2Lock(fs::lock_file_opener(path.string(), !target.file), creates_lock_file);
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
