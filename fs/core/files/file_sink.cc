#include "fs/core/files/file_sink.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

namespace framefs::fs {
namespace {

std::unexpected<Error> write_error(const char* call, std::uint64_t at) {
  auto error = codec::of_target(system_error(call, at));
  if (errno == ENOSPC || errno == EDQUOT) error.error().kind = Errc::no_space;
  return error;
}

}  // namespace

Status write_fully(int fd, std::uint64_t offset, std::span<const std::byte> bytes) {
  if (offset > std::uint64_t{std::numeric_limits<off_t>::max()} - bytes.size()) {
    return codec::fail(Errc::over_limit, "file", offset);
  }
  const auto begin = offset;
  while (!bytes.empty()) {
    const auto put = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return write_error("write", begin);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return {};
}

Status append_fully(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    // iovec has no const pointer; pwritev2() only reads through it.
    const iovec piece{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
    const auto put = ::pwritev2(fd, &piece, 1, 0, RWF_APPEND);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return write_error("write", 0);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

Status FileSink::sync() {
  if (::fsync(fd_.get()) != 0) return write_error("fsync", 0);
  return {};
}

Status FileSink::truncate(std::uint64_t size) {
  if (size > std::uint64_t{std::numeric_limits<off_t>::max()}) {
    return codec::fail(Errc::over_limit, "file", size);
  }
  while (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) {
    if (errno != EINTR) return write_error("ftruncate", size);
  }
  return {};
}

}  // namespace framefs::fs
