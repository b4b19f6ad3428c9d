#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "codec/core/byte_source.h"
#include "codec/core/result.h"

namespace framefs::fs {

using codec::Errc;
using codec::Error;
using codec::Result;
using codec::Status;

// The error of a system call that has just failed: errno, with the call's name as the field.
std::unexpected<Error> system_error(const char* call, std::uint64_t at = 0);
// The same for an errno that the caller chooses.
std::unexpected<Error> system_error_of(int error, const char* what);
// The same for a condition that the system does not know: the message is `sentence` alone, without
// the text of the errno.
std::unexpected<Error> refusal(int error, const char* sentence);

// Owns one file descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd();

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
  // Passes ownership of the descriptor to the caller.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// fstat() of a descriptor; it may be an O_PATH descriptor.
Result<struct stat> stat_of(int fd);

// A path to the object of an O_PATH descriptor, for calls that accept no such descriptor. The
// object may be a symbolic link.
std::string path_of_fd(int fd);

// openat() whose reads do not update the time of last access. The system allows that only to root
// and the owner of the file; for other users, reads update it. O_CLOEXEC is implied. `mode` is that
// of a file that O_TMPFILE makes.
// Errors: errno.
UniqueFd open_quietly(int directory, const char* path, int flags, mode_t mode = 0) noexcept;

// Reads through a descriptor no longer update the time of last access, as with open_quietly().  For
// a new file: the flag at its creation could fail after the file was made.
void stop_access_times(int fd) noexcept;

// Opens the object of `fd` again. `fd` may be an O_PATH descriptor, and the object may have no name
// any more.
// Errors: system.
Result<UniqueFd> reopen(int fd, int flags);

// Fills `out` with the bytes from `offset` on; retries interrupted and short reads.
// Errors: truncated at the end of the file, with `at` the requested offset; system.
Status read_fully(int fd, std::uint64_t offset, std::span<std::byte> out);

// Identifies a file independently of its names.
struct FileKey {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileKey&) const = default;
};
inline FileKey file_key(const struct stat& st) noexcept { return {st.st_dev, st.st_ino}; }
struct FileKeyHash {
  std::size_t operator()(const FileKey& key) const noexcept {
    // Multiplied, so that inode numbers close to each other differ in all bits.
    return std::hash<std::uint64_t>{}(key.inode * 0x9e3779b97f4a7c15ULL + key.device);
  }
};

// Distinguishes the states of a file without reading it.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};
FileIdentity identity_of(const struct stat& st) noexcept;
// A time as FileIdentity has it, for comparisons: a distant one wraps around.
std::int64_t nanoseconds(const timespec& time) noexcept;
// The time since the last change of a file.  File times advance with the ticks of a coarse clock:
// only a file whose age is not 0 certainly gets another identity from its next change.
std::chrono::nanoseconds age_of(const struct stat& st) noexcept;

// An open file as the codec's source of bytes. Threads: any number.
class FileReader final : public codec::ByteSource {
 public:
  explicit FileReader(UniqueFd fd) noexcept : fd_(std::move(fd)) {}

  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    return read_fully(fd_.get(), offset, out);
  }
  [[nodiscard]] Result<std::uint64_t> size() const override;
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  const UniqueFd fd_;
};

}  // namespace framefs::fs
