#include "fs/source/blosc2_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <thread>

#include "codec/core/byte_reader.h"
#include "codec/core/byte_writer.h"
#include "fs/core/diagnostics/lock_holder.h"
#include "fs/core/files/file_sink.h"
#include "fs/core/threads/interrupt.h"

namespace framefs::fs {
namespace {

constexpr std::string_view kSuffix = ".b2lock";
constexpr std::uint64_t kCounterAt = 8;
constexpr off_t kLockFileBytes = 16;

constexpr const char* kLockFileBusy = "a program with the Blosc2 library has locked the frame";

using CounterBytes = std::array<std::byte, sizeof(std::uint64_t)>;

Result<std::uint64_t> read_counter(int fd) {
  CounterBytes bytes{};
  const auto read = read_fully(fd, kCounterAt, bytes);
  if (read) return codec::load_le<std::uint64_t>(bytes.data());
  if (read.error().kind == Errc::truncated) return 0;  // no change yet
  return std::unexpected(read.error());
}

Status write_counter(int fd, std::uint64_t counter) {
  CounterBytes bytes{};
  codec::store_le(bytes.data(), counter);
  return write_fully(fd, kCounterAt, bytes);
}

bool is_one_of(const Error& error, std::initializer_list<int> numbers) {
  return error.kind == Errc::system && std::ranges::find(numbers, error.sys) != numbers.end();
}

// ELOOP: framefs follows no symbolic link in SOURCE.
bool is_no_file(const Error& error) {
  return is_one_of(error, {ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EXDEV});
}

bool is_denied(const Error& error) { return is_one_of(error, {EACCES, EPERM, EROFS}); }

std::unexpected<Error> no_lock_file() {
  return refusal(EIO, "the file with the name of the frame's lock file (.b2lock) is no lock file");
}

// Whether framefs may lock the file, and write the counter into it if it is opened for writing.
// The owner of the directory chooses which file has the name of the lock file, and a root daemon
// could write to all of them.
// Source: file locks: 8 zeros and the counter, or nothing before the first change.
Status check_lock_file(int fd, const struct stat& st, bool writes) {
  if (!S_ISREG(st.st_mode) || (writes && st.st_nlink > 1)) return no_lock_file();
  if (st.st_size == 0) return {};
  if (st.st_size != kLockFileBytes) return no_lock_file();
  CounterBytes unused{};
  FRAMEFS_CHECK(read_fully(fd, 0, unused));
  if (std::ranges::any_of(unused, [](auto byte) { return byte != std::byte{0}; })) {
    return no_lock_file();
  }
  return {};
}

// Returns nothing where there is no lock file.  `found` gets everything but the counter.
Result<UniqueFd> open_existing(const Blosc2Lock::Open& open, int flags, LockCounter& found) {
  auto [path, fd] = open(flags | O_NOFOLLOW | O_NONBLOCK);
  found = {.path = std::move(path), .file = {}};
  if (!fd && is_no_file(fd.error())) return UniqueFd();
  // A directory, a socket.
  if (!fd && is_one_of(fd.error(), {EISDIR, ENXIO})) return no_lock_file();
  if (!fd) return std::unexpected(fd.error());
  FRAMEFS_TRY(const auto st, stat_of(fd->get()));
  FRAMEFS_CHECK(check_lock_file(fd->get(), st, (flags & O_ACCMODE) != O_RDONLY));
  found.file = file_key(st);
  return std::move(*fd);
}

enum class Attempt : std::uint8_t { taken, busy, removed, unsupported };

Attempt try_lock(int fd, int operation) {
  while (::flock(fd, operation | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    return errno == EWOULDBLOCK ? Attempt::busy : Attempt::unsupported;
  }
  // A program that removes a frame removes the lock file too, and the next frame of that name gets
  // another.
  const auto st = stat_of(fd);
  return st && st->st_nlink == 0 ? Attempt::removed : Attempt::taken;
}

}  // namespace

Status Blosc2Lock::lock(int flags, int operation, std::chrono::milliseconds patience,
                        const IsOver& is_over) {
  release();
  counter_ = {};
  if (!open_) return {};
  const auto end = std::chrono::steady_clock::now() + patience;
  UniqueFd file;
  for (auto pause = kFirstLockPause;; pause = std::min(pause * 2, kLongestLockPause)) {
    if (!file) {
      FRAMEFS_TRY(file, open_existing(open_, flags, counter_));
    }
    if (!file) return {};
    const auto attempt = try_lock(file.get(), operation);
    if (attempt == Attempt::unsupported) return {};
    if (attempt == Attempt::taken) break;
    if (attempt == Attempt::removed) file = UniqueFd();
    if (is_over && is_over()) return {};
    if (interrupted()) return system_error_of(EINTR, "lock");
    if (std::chrono::steady_clock::now() >= end) {
      // A caller that does not wait asks again.
      if (!file || patience.count() == 0) return system_error_of(EBUSY, kLockFileBusy);
      return lock_error(kLockFileBusy, file.get(), std::nullopt);
    }
    std::this_thread::sleep_for(pause);
  }
  FRAMEFS_TRY(counter_.value, read_counter(file.get()));
  file_ = std::move(file);
  return {};
}

Status Blosc2Lock::share(std::chrono::milliseconds patience, const IsOver& is_over) {
  const auto locked = lock(O_RDONLY, LOCK_SH, patience, is_over);
  // The frame may be read although its lock file may not.
  if (!locked && is_denied(locked.error())) return {};
  return locked;
}

Status Blosc2Lock::own(std::chrono::milliseconds patience) {
  const auto locked = lock(creates_ ? O_RDWR | O_CREAT : O_RDWR, LOCK_EX, patience, nullptr);
  if (!locked && is_denied(locked.error())) {
    return system_error_of(EACCES, "the frame's lock file (.b2lock) cannot be written");
  }
  FRAMEFS_CHECK(locked);
  if (!is_held()) return {};
  // This comes before the change itself: the next program with the lock must not trust what it
  // knows of the frame, even if the change ends halfway.
  const auto advanced = write_counter(file_.get(), counter_.value + 1);
  if (!advanced) release();
  return advanced;
}

LockCounter Blosc2Lock::peek() const {
  LockCounter found;
  if (!open_) return found;
  const auto file = open_existing(open_, O_RDONLY, found);
  if (file && *file) found.value = read_counter(file->get()).value_or(0);
  return found;
}

std::string lock_file_of(const std::string& name) { return name + std::string(kSuffix); }

std::string lock_file_of(const std::string& path, bool is_sparse) {
  return is_sparse ? path + "/" + kSparseLockFile : lock_file_of(path);
}

Result<UniqueFd> open_lock_file(int directory, const std::string& name, int flags,
                                const struct stat& frame) {
  const bool may_create = (flags & O_CREAT) != 0;
  flags = (flags & ~O_CREAT) | O_CLOEXEC;
  while (true) {
    UniqueFd fd(::openat(directory, name.c_str(), flags));
    if (fd) return fd;
    if (errno != ENOENT || !may_create) return system_error("open");
    constexpr mode_t kReadAndWrite = 0666;
    const mode_t mode = frame.st_mode & kReadAndWrite;
    fd = UniqueFd(::openat(directory, name.c_str(), flags | O_CREAT | O_EXCL, mode));
    if (!fd && errno == EEXIST) continue;
    if (!fd) return system_error("open");
    // Only root may give a file away.  Programs of the frame's owner have to open it too.
    static_cast<void>(::fchown(fd.get(), frame.st_uid, frame.st_gid));
    if (::fchmod(fd.get(), mode) != 0) return system_error("chmod");
    return fd;
  }
}

Blosc2Lock::Open lock_file_opener(const Place& frame, bool is_sparse) {
  return [frame, is_sparse,
          path = lock_file_of(frame.path(), is_sparse)](int flags) -> Blosc2Lock::Opened {
    const auto st = frame.stat();
    if (!st) return {path, std::unexpected(st.error())};
    if (!is_sparse) {
      return {path, open_lock_file(frame.directory(), lock_file_of(frame.name()), flags, *st)};
    }
    const auto directory = frame.open_directory();
    if (!directory) return {path, std::unexpected(directory.error())};
    return {path, open_lock_file((*directory)->get(), kSparseLockFile, flags, *st)};
  };
}

}  // namespace framefs::fs
