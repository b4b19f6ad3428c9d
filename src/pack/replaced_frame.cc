#include "src/pack/replaced_frame.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "fs/source/blosc2_lock.h"
#include "fs/write/frame_write_session.h"

namespace framefs {
namespace {

bool is_at(const fs::Place& place, int fd) {
  const auto there = place.stat();
  const auto st = fs::stat_of(fd);
  return st && there && fs::file_key(*there) == fs::file_key(*st);
}

}  // namespace

fs::Result<std::unique_ptr<fs::FrameOwnership>> own_replaced_frame(const fs::Place& place,
                                                                   bool creates_lock_file) {
  constexpr int kMaxAttempts = 100;
  for (int i = 0; i < kMaxAttempts; ++i) {
    auto file = std::make_shared<const fs::UniqueFd>(::openat(
        place.directory(), place.name().c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!*file) return nullptr;
    const int fd = file->get();
    auto owned = std::make_unique<fs::FrameOwnership>(
        fs::FrameOwnership::Frame{
            .fd = fd, .kind = fs::FrameLock::Kind::file, .keeper = std::move(file)},
        fs::Blosc2Lock(fs::lock_file_opener(place, false), creates_lock_file));
    FRAMEFS_CHECK(owned->take(fs::FrameWriteSession::kPatience));
    // Another program may have replaced the file during the wait; the lock is then that of a file
    // without a name.
    if (is_at(place, fd)) return owned;
  }
  return fs::refusal(EBUSY, "other programs replace the frame all the time");
}

}  // namespace framefs
