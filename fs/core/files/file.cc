#include "fs/core/files/file.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

namespace framefs::fs {

std::int64_t nanoseconds(const timespec& time) noexcept {
  // Unsigned arithmetic, so that a distant time wraps around.
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
                                   static_cast<std::uint64_t>(time.tv_nsec));
}

std::unexpected<Error> system_error(const char* call, std::uint64_t at) {
  return std::unexpected(Error{.kind = Errc::system, .field = call, .at = at, .sys = errno});
}

std::unexpected<Error> system_error_of(int error, const char* what) {
  return std::unexpected(Error{.kind = Errc::system, .field = what, .sys = error});
}

std::unexpected<Error> refusal(int error, const char* sentence) {
  return std::unexpected(
      Error{.kind = Errc::system, .field = sentence, .sys = error, .is_sentence = true});
}

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  UniqueFd old(std::exchange(fd_, std::exchange(other.fd_, -1)));
  return *this;
}

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) ::close(fd_);
}

Result<struct stat> stat_of(int fd) {
  struct stat st{};
  if (::fstatat(fd, "", &st, AT_EMPTY_PATH) != 0) return system_error("fstat");
  return st;
}

std::string path_of_fd(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

UniqueFd open_quietly(int directory, const char* path, int flags, mode_t mode) noexcept {
  // O_NONBLOCK: a user may put a fifo into any place in SOURCE, or hold a lease of a file.
  flags |= O_NONBLOCK | O_CLOEXEC;
  const int fd = ::openat(directory, path, flags | O_NOATIME, mode);
  if (fd >= 0 || errno != EPERM) return UniqueFd(fd);
  return UniqueFd(::openat(directory, path, flags, mode));
}

void stop_access_times(int fd) noexcept {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0) ::fcntl(fd, F_SETFL, flags | O_NOATIME);
}

Result<UniqueFd> reopen(int fd, int flags) {
  // The path of a descriptor is a symbolic link that always leads to the open object, so O_NOFOLLOW
  // must be off.
  auto opened = (flags & O_PATH) != 0
                    ? UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0))
                    : open_quietly(AT_FDCWD, path_of_fd(fd).c_str(), flags & ~O_NOFOLLOW);
  if (!opened) return system_error("open");
  return opened;
}

Status read_fully(int fd, std::uint64_t offset, std::span<std::byte> out) {
  if (offset > std::uint64_t{std::numeric_limits<off_t>::max()} - out.size()) {
    return codec::fail(Errc::truncated, "file", offset);
  }
  const auto begin = offset;
  while (!out.empty()) {
    const auto got = ::pread(fd, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("read", begin);
    if (got == 0) return codec::fail(Errc::truncated, "file", begin);
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

FileIdentity identity_of(const struct stat& st) noexcept {
  return {.device = st.st_dev,
          .inode = st.st_ino,
          .size = st.st_size,
          .mtime_ns = nanoseconds(st.st_mtim),
          .ctime_ns = nanoseconds(st.st_ctim)};
}

std::chrono::nanoseconds age_of(const struct stat& st) noexcept {
  timespec now{};
  static_cast<void>(::clock_gettime(CLOCK_REALTIME_COARSE, &now));  // every kernel has this clock
  const auto age = nanoseconds(now) - nanoseconds(st.st_ctim);
  return std::chrono::nanoseconds(std::max<std::int64_t>(age, 0));
}

Result<std::uint64_t> FileReader::size() const {
  FRAMEFS_TRY(const auto st, stat_of(fd_.get()));
  return static_cast<std::uint64_t>(st.st_size);
}

}  // namespace framefs::fs
